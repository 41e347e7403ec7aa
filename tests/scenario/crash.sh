#!/bin/sh
# crash.sh PROGRAM FAULTY: a fault occurs at a mutating system call of the
# program (tests/support/faulty.c). The program is started again without faults
# and must have lost nothing and done nothing twice. tests/support/points.sh
# chooses the calls.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=prepare
day='pointsman daemon all --until-idle'
everything='plain needy other often once'

# ---- the base that every trial starts with -----------------------------------

prepare() {
    make_base 'grace = 1'
    cat >base/conf.d/target.conf <<'EOF'
[target "main"]
check.first = test -e README
EOF
    make_set plain DC src/p plain
    drop_set "$made"
    make_set needy BF src/b needy '##dependencies' plain
    drop_set "$made"
    make_set other EM src/a other
    pointsman change submit "$made"
    pointsman submit --id often --retries 3 -- sh -c 'echo ran >>often.ran'
    pointsman submit --id once --at-most-once -- sh -c 'echo ran >>once.ran'
    mkdir master
    cp -a base project.git master
}

# ---- scenarios ---------------------------------------------------------------

nothing_happens() {
    prepare
    begin_trial
    : >calls
    run
    judge
    same 'runs of often' "$(wc -l <often.ran)" 1
}
scenario 'without misfortune all is as the judge demands' nothing_happens

scenario 'everything killed at once loses nothing' killed 8 --kill all
scenario 'the process that calls killed alone loses nothing' \
    killed 5 --kill one
scenario 'a landing killed alone loses nothing' \
    killed 4 --kill one --only 'exe land '
scenario 'a git killed alone loses nothing' killed 4 --kill one --only '^git '
scenario 'the guard killed alone loses nothing' \
    killed 3 --kill one --only 'pointsman guard'
scenario 'the daemon killed alone loses nothing' \
    killed 3 --kill one --only 'pointsman daemon'

scenario 'killed again while it recovers loses nothing' twice 4

# ---- a disk that fails -------------------------------------------------------

scenario 'a disk that is full once loses nothing' \
    killed 5 --fail ENOSPC
scenario 'a disk that is full for a while loses nothing' \
    killed 4 --fail ENOSPC --for 20
scenario 'a disk that fails once loses nothing' \
    killed 5 --fail EIO

finish
