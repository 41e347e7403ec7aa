#!/bin/sh
# tap.sh PROGRAM [ARG]...: runs a test program and corrects its TAP output.
# cmocka 1.1.5 reports a skipped test as "not ok", which TAP consumers count as
# a failure; this script prints "ok N - NAME # SKIP REASON" instead. The exit
# status is that of the program.
{
    "$@"
    echo "exit status: $?"
} | awk '
    /^exit status: [0-9]+$/ { status = $3; next }
    /^# because: / { reason = substr($0, 12); next }
    /^not ok [0-9]+ # SKIP/ {
        name = $0
        sub(/^not ok [0-9]+ # SKIP */, "", name)
        print "ok " $3 " - " name " # SKIP " reason
        reason = ""
        next
    }
    { print; fflush() }
    END { exit status }'
