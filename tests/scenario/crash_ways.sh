#!/bin/sh
# crash_ways.sh PROGRAM FAULTY: like crash.sh, while jobs are submitted: sets
# sent to a server and dropped as files, a server that is asked to stop, and
# daemons run one after the other. Everything acknowledged before the fault is
# known after it. The rest is submitted again, which is always safe.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
prepare=empty_base
everything='plain needy other often once'

# The callers are not killed; they record in acked.ran what was acknowledged.
empty_base() {
    make_base 'grace = 1'
    make_set plain DC src/p plain
    plain=$made
    make_set needy BF src/b needy '##dependencies' plain
    needy=$made
    make_set other EM src/a other
    other=$made
    cat >callers.sh <<EOF
acked() { echo "\$1" >>'$here/acked.ran'; }
by_submit() { pointsman change submit "\$2" && acked "\$1"; }
by_put() {
    # Dropping a set that has run already would be refused as a duplicate.
    grep -qsx "\$1" '$here/acked.ran' ||
        pointsman change put "\$2" && acked "\$1"
}
callers() {
    by_put plain '$plain'
    by_submit needy '$needy'
    by_submit other '$other'
    pointsman submit --id often --retries 3 \\
        -- sh -c 'echo ran >>often.ran' && acked often
    pointsman submit --id once --at-most-once \\
        -- sh -c 'echo ran >>once.ran' && acked once
}
EOF
    mkdir master
    cp -a base project.git master
}

# What was acknowledged is known; the rest is submitted again.
submit_again() {
    touch acked.ran
    run # first admits the sets in the drop directories
    for id in $(cat acked.ran); do
        ends 0 pointsman status "$id"
    done
    ! pointsman status plain || echo plain >>acked.ran
    ends 0 sh -c '. ./callers.sh; set -e; callers'
}
before_recovery=submit_again

# ---- through a server --------------------------------------------------------

served() {
    empty_base
    cat >workload.sh <<'EOF'
. ./callers.sh
pointsman serve &
server=$!
while [ ! -S base/ctrl/sock ] && kill -0 $server; do :; done
callers
# `wait` would wait for another server.
runs() { grep -qs '^State:[^Z]*$' "/proc/$1/status"; }
pointsman --server unix:base/ctrl/sock wait plain needy other often once &
waiter=$!
while runs $server && runs $waiter; do :; done
runs $server || kill $waiter
wait $waiter
kill -TERM $server
wait $server
EOF
    workload='sh workload.sh'
    points "$@"
}
scenario 'server, callers and jobs killed at once: nothing is lost' \
    served 6 --kill all
scenario 'only the server killed: nothing is lost' \
    served 5 --kill one --only 'pointsman serve'
scenario 'disk full for a while under the server: nothing is lost' \
    served 4 --fail ENOSPC --for 20 --only 'pointsman serve'

# ---- daemons one after the other ---------------------------------------------

one_by_one() {
    empty_base
    cat >workload.sh <<'EOF'
. ./callers.sh
callers
for round in 1 2 3; do
    for role in prequeue queue exec; do
        pointsman daemon $role --once
    done
done
EOF
    workload='sh workload.sh'
    points "$@"
}
scenario 'separate daemons, everything killed at once: nothing is lost' \
    one_by_one 6 --kill all
scenario 'separate daemons, only one killed: nothing is lost' \
    one_by_one 4 --kill one --only 'pointsman daemon'

finish
