#!/bin/sh
# crash_ways.sh PROGRAM FAULTY: as crash.sh, while work comes in: sets handed to
# a server and put as files, a server that is told to end, daemons one by one.
# What was acknowledged before the misfortune is known after it; what was not is
# handed in again, which is never wrong.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=empty
everything='plain needy other often once'

# Who calls is outside of what is killed: the registry and files alone say what
# was acknowledged.
empty() {
    make_base 'grace = 1'
    make_set plain DC src/p plain
    plain=$made
    make_set needy BF src/b needy '##dependencies' plain
    needy=$made
    make_set other EM src/a other
    other=$made
    cat >callers.sh <<EOF
told() { echo "\$1" >>'$here/acked.ran'; }
by_submit() { pointsman change submit "\$2" && told "\$1"; }
by_put() {
    # One that ran already is refused as a duplicate when it comes by files.
    grep -qsx "\$1" '$here/acked.ran' ||
        pointsman change put "\$2" && told "\$1"
}
callers() {
    by_put plain '$plain'
    by_submit needy '$needy'
    by_submit other '$other'
    pointsman submit --id often --retries 3 \\
        -- sh -c 'echo ran >>often.ran' && told often
    pointsman submit --id once --at-most-once \\
        -- sh -c 'echo ran >>once.ran' && told once
}
EOF
    mkdir master
    cp -a base project.git master
}

# What was acknowledged is there; the rest comes again.
hand_in_again() {
    touch acked.ran
    run # what came by files has to be admitted first
    for id in $(cat acked.ran); do
        ends 0 pointsman status "$id"
    done
    ! pointsman status plain || echo plain >>acked.ran
    ends 0 sh -c '. ./callers.sh; set -e; callers'
}
before_recovery=hand_in_again

# ---- through a server --------------------------------------------------------

served() {
    empty
    cat >day.sh <<'EOF'
. ./callers.sh
pointsman serve &
server=$!
while [ ! -S base/ctrl/sock ] && kill -0 $server; do :; done
callers
pointsman --server unix:base/ctrl/sock wait plain needy other often once
kill -TERM $server
wait $server
EOF
    day='sh day.sh'
    points "$@"
}
scenario 'a server, its callers and its work killed at once lose nothing' \
    served 6 --kill all
scenario 'a server killed alone loses nothing' \
    served 5 --kill one --only 'pointsman serve'
scenario 'a server on a disk that is full for a while loses nothing' \
    served 4 --fail ENOSPC --for 20 --only 'pointsman serve'

# ---- one by one --------------------------------------------------------------

one_by_one() {
    empty
    cat >day.sh <<'EOF'
. ./callers.sh
callers
for round in 1 2 3; do
    for role in prequeue queue exec; do
        pointsman daemon $role --once
    done
done
EOF
    day='sh day.sh'
    points "$@"
}
scenario 'daemons one by one, killed at once, lose nothing' \
    one_by_one 6 --kill all
scenario 'a daemon of the three killed alone loses nothing' \
    one_by_one 4 --kill one --only 'pointsman daemon'

finish
