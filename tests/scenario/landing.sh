#!/bin/sh
# landing.sh PROGRAM: how sets come to a branch, seen from outside: lanes that
# race for it, and what a set was made against.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# push FILE TEXT: somebody else's commit, dated long ago, in a pack and without
# a reflog: nothing of git tells when it came.
push() {
    git -C project.git config core.logAllRefUpdates false
    [ -d clone ] || git clone -q project.git clone
    echo "$2" >"clone/$1"
    git -C clone add "$1"
    GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' \
        GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' \
        git -C clone commit -q -m "push $1"
    git -C clone repack -q -a -d
    git -C clone push -q origin HEAD:main
    git -C project.git repack -q -a -d
    rm -f project.git/logs/refs/heads/main
}

# ---- what a set was made against ---------------------------------------------

seen_at_admission() {
    make_base
    push a first
    make_set before DC a 'made before'
    pointsman change submit "$made"
    pointsman --quiet daemon prequeue --once
    says "seen $(git -C project.git rev-parse main)" base/queue/before_*
    push a second
    make_set after DC a 'made after'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place before F
    in_one_place after D
    pointsman why before | grep 'a was changed'
    same content "$(git -C project.git show main:a)" 'made after'
}
scenario 'a set without ##base is compared with the branch at its admission' \
    seen_at_admission

seen_survives_a_rebuild() {
    make_base
    push a first
    make_set before DC a 'made before'
    pointsman change submit "$made"
    pointsman --quiet daemon prequeue --once
    push a second
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    ends 0 pointsman fsck
    within pointsman daemon all --until-idle
    in_one_place before F
    same content "$(git -C project.git show main:a)" second
}
scenario 'that is known after a rebuild of the registry too' \
    seen_survives_a_rebuild

finish
