#!/bin/sh
# crash_train.sh PROGRAM FAULTY: like crash.sh, on a branch with four lanes: sets
# with a check, one that fails, and a group. No set lands twice, without its
# check, or not at all.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=prepare
workload='pointsman daemon all --until-idle'
everything='a b bad l r z'

# ---- the base that every trial starts with -----------------------------------

# The check fails for a tree with a file `bad`, and records the trees that
# passed. It says so before it ends, so that a check that is killed may have
# passed.
prepare() {
    make_base 'grace = 1' 'concurrency = 8'
    cat >base/conf.d/target.conf <<EOF
[target "main"]
lanes = 4
check.unit = sh '$here/unit.sh'
EOF
    cat >digest.sh <<'EOF'
find . -type f | sort | xargs sha256sum | sha256sum
EOF
    cat >unit.sh <<EOF
echo "\$POINTSMAN_CSID" >>'$here/checks.ran'
test ! -e bad && sh '$here/digest.sh' >>'$here/passed.ran'
EOF
    for id in a b bad z; do
        make_set $id DC $id $id
        drop_set "$made"
    done
    for id in l r; do
        make_set $id DC $id $id '##group' 'pair 2'
        drop_set "$made"
    done
    mkdir master
    cp -a base project.git master
}

# ---- checks after the recovery -----------------------------------------------

# Every tree that the branch had after a landing has passed the check. The first
# set of a group lands on the way to the tree of the group.
landed_as_checked() {
    for commit in $(git -C project.git rev-list --grep '^CS-Id:' main); do
        case $(git -C project.git log -1 --format=%B "$commit") in
        *'CS-Id: l'*) continue ;;
        esac
        rm -rf tree.ran
        mkdir tree.ran
        git -C project.git archive "$commit" | tar -C tree.ran -xf -
        says "$(cd tree.ran && sh ../digest.sh)" passed.ran
        rm -rf tree.ran
    done
}

judge() {
    land_another
    for set in a b l r z later; do
        in_one_place $set D
        same "commits of $set" "$(times_landed $set)" 1
    done
    in_one_place bad F
    same 'commits of bad' "$(times_landed bad)" 0
    landed_as_checked
    case $(landed_order) in
    *'l r '*) ;;
    *) wrong "the group landed apart: $(landed_order)" ;;
    esac
    ends 0 pointsman fsck
    same 'files left in prequeue and reject' \
        "$(ls base/prequeue base/reject | sed '/:$/d; /^$/d')" ''
    same 'locks in the repository' "$(find project.git -name '*.lock')" ''
    git -C project.git fsck --strict --no-progress --no-dangling
}

# ---- scenarios ---------------------------------------------------------------

without_fault() {
    prepare
    begin_trial
    : >calls
    run
    judge
}
scenario 'train without a fault: all checks of the base pass' without_fault

scenario 'train, everything killed at once: nothing is lost' \
    killed 8 --kill all
scenario 'train, only a merge, check or landing killed: nothing is lost' \
    killed 6 --kill one --only 'exe land '
scenario 'train, only the daemon killed: nothing is lost' \
    killed 4 --kill one --only 'pointsman daemon'
scenario 'train, only a git killed: nothing is lost' \
    killed 3 --kill one --only '^git '
scenario 'train, killed again during the recovery: nothing is lost' twice 3
scenario 'train, disk full for a while: nothing is lost' \
    killed 3 --fail ENOSPC --for 20 --only 'exe land '

finish
