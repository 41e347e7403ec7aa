#!/bin/sh
# interrupts.sh PROGRAM FAULTY: Ctrl-C at any system call of `run`: either it
# ends with 130, and its job does not run afterwards, or the job has ended before
# and its exit code is reported.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
# shellcheck source=tests/support/points.sh
. "$(dirname "$0")/../support/points.sh"
faulty=$(CDPATH='' cd "$(dirname "$2")" && pwd)/$(basename "$2")

# interrupted POINT: $came is the exit status of `run`. `starts` gets a line for
# each start of a job.
interrupted() {
    came=0
    # Not the beginning of another id: `status` would find that job.
    id=call-$1-
    within "$faulty" --interrupt --log calls --at "$1" -- pointsman run \
        --id "$id" -- sh -c 'echo "$POINTSMAN_JOB" >>starts; exit 7' \
        >said 2>&1 || came=$?
}

count_calls() {
    interrupted 0
    [ "$came" -ne 125 ] || skip 'processes cannot be traced here'
    same 'exit status without Ctrl-C' "$came" 7
    total=$(sed -n 's/^total //p' calls)
    [ "$total" -gt 50 ] || wrong "only $total calls"
}

judge_point() {
    before=$(grep -cx "$id" starts)
    if [ -n "$server" ]; then
        within pointsman run -- true
    else
        within pointsman daemon all --until-idle
    fi
    same "call $at: starts after the end of run" "$(grep -cx "$id" starts)" \
        "$before" || return
    state=$(pointsman status --json "$id" 2>/dev/null |
        sed 's/.*"state":"\([a-z]*\)".*/\1/')
    case $came,$state in
    130, | 130,terminated | 7,failed | 7,terminated) ;;
    *) wrong "call $at: run exited with $came, the job is '$state'" ;;
    esac
}

sweep_calls() {
    touch starts
    count_calls
    points_begin "$total" 40
    while points_next; do
        interrupted "$at"
        if judge_point; then
            point_result ok
        else
            cat said
            point_result FAILED
        fi
    done
    points_end
}

without_server() {
    make_base 'concurrency = 4'
    server=
    sweep_calls
}
scenario 'Ctrl-C at any call of run without a server ends the job' without_server

with_server() {
    make_base 'concurrency = 4'
    serve_begin
    sweep_calls
    serve_end
}
scenario 'Ctrl-C at any call of run with a server ends the job' with_server

finish
