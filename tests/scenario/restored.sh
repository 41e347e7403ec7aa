#!/bin/sh
# restored.sh PROGRAM: a base that was restored from a backup starts nothing that
# the base of the backup may still run, until somebody says so.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# copied: a base in which everything may happen, and copy/, restored from a
# backup of it; nothing of it has run yet, and two jobs execute
copied() {
    make_base 'concurrency = 3'
    mkfifo here gate
    printf '#!/bin/sh\n[ -e free ] || { echo >here; cat gate; }\n' >wait
    chmod +x wait
    serve_begin
    pointsman submit --id runs -- \
        sh -c 'echo "$POINTSMAN_ATTEMPT" >>runs.ran; ./wait'
    within cat here
    pointsman submit --id once --at-most-once -- \
        sh -c 'echo >>once.ran; ./wait'
    within cat here
    printf '1\n2\n' >nodes
    pointsman submit --id array --array nodes -- \
        sh -c 'echo >>array.ran; ./wait' {}
    within cat here
    pointsman submit --id waits -- sh -c 'echo >>waits.ran'
    pointsman submit --id behind --after waits -- sh -c 'echo >>behind.ran'
    make_set set DC src/s set '##dependencies' waits
    pointsman change submit "$made"
    within sh -c 'until pointsman status --json set | grep -q staged; do :; done'
    ends 0 pointsman backup saved.tar
    kill -KILL "$server"
    expect_exit "$server" 137
    rm -f ./*.ran
    ends 0 pointsman restore --base copy saved.tar
    says 'pointsman restore --resume' err
    export POINTSMAN_BASE="$here/copy"
}

work() {
    within pointsman daemon all --until-idle
}

nothing_starts() {
    copied
    make_set late DC src/l late
    cp "$made" copy/data/
    : >"copy/prequeue/$(basename "$made")"
    work
    same 'what ran' "$(ls ./*.ran 2>/dev/null)" ''
    for id in runs array waits behind set late; do
        same "holds of $id" "$(pointsman status --json $id | jq -c .holds)" \
            '["restored"]'
        ends 0 pointsman why $id
        says 'held (restored); lifted by: release, or `pointsman restore' out
    done
    same 'state of runs' "$(pointsman status --json runs | jq -r .state)" pending
    same 'state of once' "$(pointsman status --json once | jq -r .reason)" \
        at-most-once
    same 'commits of the set' "$(times_landed set)" 0
    ends 0 pointsman status
    says 'restored    20' out
    ends 1 pointsman doctor
    says 'warn restored' out
    ends 0 pointsman fsck
    # What is submitted now is nobody else's.
    pointsman submit --id new -- sh -c 'echo >>new.ran'
    work
    [ -e new.ran ]
    ends 0 pointsman release waits
    work
    [ -e waits.ran ] && [ ! -e behind.ran ]
    : >free
    ends 0 pointsman restore --resume
    says 'released 5 jobs' err
    work
    same 'attempts of runs' "$(cat runs.ran)" 2
    same 'runs of the array' "$(wc -l <array.ran)" 2
    [ -e behind.ran ] && [ ! -e once.ran ]
    in_copy_done set late
    ends 0 pointsman status
    says_not restored out
    ends 100 pointsman restore --resume
    says 'does not wait to be resumed' err
    ends 0 pointsman fsck
}

in_copy_done() {
    for id in "$@"; do
        same "state of $id" "$(pointsman status --json "$id" | jq -r .state)" \
            'done'
    done
}
scenario 'a restored base starts nothing of its backup until it is resumed' \
    nothing_starts

# A running server notices that the base is resumed. Of three missed hours
# `missed` decides.
schedules_do_not_fire() {
    make_base
    at=$(date -u -d '3 hours ago' +%Y-%m-%dT%H:%M:%SZ)
    pointsman cron add --since "$at" --max-shift 5h --missed run caught '@every 1h' -- \
        sh -c 'echo >>caught.ran'
    pointsman cron add --since "$at" --max-shift 5h --missed skip skipped '@every 1h' -- \
        sh -c 'echo >>skipped.ran'
    ends 0 pointsman backup saved.tar
    ends 0 pointsman restore --base copy saved.tar
    export POINTSMAN_BASE="$here/copy"
    work
    [ ! -e caught.ran ]
    same 'next instants' "$(pointsman cron list --json | jq -c .next | sort -u)" \
        null
    serve_begin
    says 'its schedules do not fire' serve.log
    ends 0 pointsman restore --resume
    await '"reason":"ok"'
    serve_end
    [ -e caught.ran ] && [ ! -e skipped.ran ]
}
scenario 'schedules of a restored base fire when it is resumed' \
    schedules_do_not_fire

finish
