# Scenarios of merge trains, sourced after scenario.sh.

# make_train LANES [LINE]...: a base whose check fails for a tree with a file of
# the text "bad", and records what it ran on in `runs`. While the FIFO gate.ID
# exists, the check of ID waits; if the file flaky.ID exists, it fails once, and
# with temporary.ID it ends with 75.
make_train() {
    make_base "concurrency = ${train_slots:-8}"
    train_lanes=$1
    shift
    {
        printf '[target "main"]\nlanes = %s\n' "$train_lanes"
        printf "check.unit = sh '%s'\n" "$here/unit.sh"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >base/conf.d/target.conf
    : >runs
    cat >digest.sh <<'EOF'
find . -type f | sort | xargs sha256sum | sha256sum | cut -c 1-20
EOF
    cat >unit.sh <<EOF
echo "\$POINTSMAN_CSID \$(sh '$here/digest.sh') \$POINTSMAN_LANE" >>'$here/runs'
gate='$here/gate.'\$POINTSMAN_CSID
if [ -p "\$gate" ]; then
    read -r word <"\$gate" || :
fi
flaky='$here/flaky.'\$POINTSMAN_CSID
if [ -e "\$flaky" ]; then
    rm "\$flaky"
    exit 1
fi
[ ! -e '$here/temporary.'\$POINTSMAN_CSID ] || exit 75
! grep -rqx bad .
EOF
}

# submit ID CLASS TEXT [META LINE]...: a set with a file of its own
submit() {
    submit_id=$1 submit_class=$2 submit_text=$3
    shift 3
    make_set "$submit_id" "$submit_class" "file.$submit_id" "$submit_text" "$@"
    pointsman change submit "$made"
}

# gate ID...: the checks of these sets wait
gate() {
    for gate_id in "$@"; do
        mkfifo "gate.$gate_id"
    done
}

# running ID...: their checks have begun
running() {
    for running_id in "$@"; do
        await '"id":"'"$running_id"'".*"reason":"run"'
    done
}

# passed ID...: they have passed on top of those ahead
passed() {
    for passed_id in "$@"; do
        await '"id":"'"$passed_id"'".*"reason":"passed"'
    done
}

# why_says ID TEXT: waits until `why` of the set contains the text
why_says() {
    within sh -c 'until pointsman why "$0" | grep -qF -e "$1"; do :; done' \
        "$1" "$2"
}

# open_gate ID...: the checks of these sets go on; later ones do not wait. A
# check that waits may have been stopped, so opening must not wait for it.
open_gate() {
    for gate_id in "$@"; do
        mv "gate.$gate_id" "open.$gate_id"
        echo go 1<>"open.$gate_id"
    done
}

# reload: a server begun with serve_begin reads its configuration again
reload() {
    reloads=$(grep -c reloaded serve.log || :)
    kill -HUP "$server"
    within sh -c 'until [ "$(grep -c reloaded serve.log)" -gt "$0" ]; do :; done' \
        "${reloads:-0}"
}

runs_of() {
    grep -c "^$1 " runs || :
}

# runs_reach ID COUNT: waits until its check has begun so many times
runs_reach() {
    within sh -c 'until [ "$(grep -c "^$0 " runs)" -eq "$1" ]; do :; done' \
        "$1" "$2"
}

# state_is ID WORD: in the registry; files follow a moment later
state_is() {
    same "state of $1" "$(pointsman status --json "$1" | jq -r .state)" "$2"
}

moves() {
    git -C project.git reflog main --format=%gs | grep -c ': land' || :
}

# Every commit of a set, except those of rollbacks, has a tree that a check has
# seen.
landed_as_checked() {
    for commit in $(git -C project.git rev-list --grep '^CS-Id:' main); do
        ! git -C project.git log -1 --format=%B "$commit" |
            grep -q '^Reverts-CS:' || continue
        rm -rf out.tree
        mkdir out.tree
        git -C project.git archive "$commit" | tar -C out.tree -xf -
        seen=$(cd out.tree && sh ../digest.sh)
        says " $seen " runs
    done
}

# landed ID...: while the server runs
landed() {
    for landed_id in "$@"; do
        state_is "$landed_id" 'done'
        same "commits of $landed_id" "$(times_landed "$landed_id")" 1
    done
}

all_landed() {
    for id in "$@"; do
        in_one_place "$id" D
    done
    landed "$@"
    landed_as_checked
}
