#!/bin/sh
# crash_ways.sh PROGRAM FAULTY: like crash.sh, while jobs are submitted: sets
# sent to a server and dropped as files, a server that is asked to stop, and
# daemons run one after the other. Everything acknowledged before the fault is
# known after it. The rest is submitted again, which is always safe. shellcheck
# source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=empty
everything='plain needy other often once'

# The callers are not killed; they record in acked.ran what was acknowledged.
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
    # Dropping a set that has run already would be refused as a duplicate.
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

# What was acknowledged is known; the rest is submitted again.
hand_in_again() {
    touch acked.ran
    run # first admits the sets in the drop directories
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

# ---- daemons one after the other ---------------------------------------------

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
