#!/bin/sh
# crash_land.sh PROGRAM FAULTY: like crash.sh, with sets without checks that land
# one by one: git makes the first move of the branch, the others are made without
# it, and each landing begins in the transaction that ends the one before.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=prepare
workload='pointsman daemon all --until-idle'
everything='a b c d'

prepare() {
    make_base 'grace = 1' 'concurrency = 8'
    printf '[target "main"]\nland-max = 1\n' >base/conf.d/target.conf
    for id in $everything; do
        make_set $id DC $id $id
        drop_set "$made"
    done
    mkdir master
    cp -a base project.git master
}

judge() {
    land_another
    for set in $everything; do
        in_one_place $set D
        same "commits of $set" "$(times_landed $set)" 1
    done
    ends 0 pointsman fsck
    same 'locks in the repository' "$(find project.git -name '*.lock')" ''
    same 'notes of moves' "$(find base/tmp -name 'move.*')" ''
    git -C project.git fsck --strict --no-progress --no-dangling
}

without_fault() {
    prepare
    begin_trial
    : >calls
    run
    same 'order' "$(landed_order)" 'a b c d '
    judge
}
scenario 'one by one without a fault: all checks of the base pass' without_fault

scenario 'one by one, everything killed at once: nothing is lost' \
    killed 8 --kill all
scenario 'one by one, only the landing process killed: nothing is lost' \
    killed 8 --kill one --only 'exe land '
scenario 'one by one, only the daemon killed: nothing is lost' \
    killed 6 --kill one --only 'pointsman daemon'
scenario 'one by one, killed again during the recovery: nothing is lost' twice 3
scenario 'one by one, disk full for a while: nothing is lost' \
    killed 3 --fail ENOSPC --for 20 --only 'exe land '

finish
