#!/bin/sh
# crash.sh PROGRAM FAULTY: a fault occurs at a mutating system call of the
# program (tests/support/faulty.c). The program is started again without faults
# and must have lost nothing and done nothing twice. tests/support/points.sh
# chooses the calls.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=prepare
workload='pointsman daemon all --until-idle'
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

without_fault() {
    prepare
    begin_trial
    : >calls
    run
    judge
    same 'runs of often' "$(wc -l <often.ran)" 1
}
scenario 'without a fault, all checks of the base pass' without_fault

scenario 'everything killed at once: nothing is lost' killed 8 --kill all
scenario 'only the calling process killed: nothing is lost' \
    killed 5 --kill one
scenario 'only a landing killed: nothing is lost' \
    killed 4 --kill one --only 'exe land '
scenario 'only a git killed: nothing is lost' killed 4 --kill one --only '^git '
scenario 'only the guard killed: nothing is lost' \
    killed 3 --kill one --only 'pointsman guard'
scenario 'only the daemon killed: nothing is lost' \
    killed 3 --kill one --only 'pointsman daemon'

scenario 'killed again during the recovery: nothing is lost' twice 4

# ---- a disk that fails -------------------------------------------------------

scenario 'disk full once: nothing is lost' \
    killed 5 --fail ENOSPC
scenario 'disk full for a while: nothing is lost' \
    killed 4 --fail ENOSPC --for 20
scenario 'one disk error: nothing is lost' \
    killed 5 --fail EIO

finish
