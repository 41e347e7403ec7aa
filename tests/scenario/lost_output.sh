#!/bin/sh
# lost_output.sh PROGRAM FAULTY: output that a power cut, a full disk or a
# damaged disk took is marked wherever the output is shown.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH='' cd "$(dirname "$2")" && pwd)/$(basename "$2")

work() {
    pointsman daemon all --until-idle
}

# lost ID BYTES REASON: every command says so
lost() {
    ends 0 pointsman status "$1"
    says "lost        $2 of its output are lost: $3" out
    pointsman status --json "$1" >job.json
    same 'bytes of the job' "$(jq .lost_bytes job.json)" "${2% bytes}"
    ends 0 pointsman logs --attempts "$1"
    says "    $2 of its output are lost: $3" out
    pointsman logs --attempts --json "$1" >attempt.json
    same 'bytes of the attempt' "$(jq .lost_bytes attempt.json)" "${2% bytes}"
    same 'its reason' "$(jq -r .lost_reason attempt.json)" "$3"
}

cut='its file is shorter than recorded, as after a power cut'

# The file of small outputs ends within the output of `second`.
segment_is_cut() {
    make_base
    pointsman submit --id first -- echo one
    work
    pointsman submit --id second -- printf 'two\nthree\nfour\n'
    work
    segment=$(find base/attempts/segments -type f -newer base/pointsman.conf |
        xargs grep -l three)
    ends 0 pointsman fsck
    ends 0 pointsman status second
    says_not lost out
    truncate -s "$(($(grep -abo three "$segment" | cut -d: -f1) + 2))" \
        "$segment"
    ends 0 pointsman logs second
    printf 'two\nth' | cmp - out
    says "pointsman: attempt 1: 9 bytes of its output are lost: $cut" err
    lost second '9 bytes' "$cut"
    ends 0 pointsman logs --json second
    same 'the last line' "$(tail -n 1 out | jq -r .stream)" pointsman
    says '9 bytes of its output are lost' out
    ends 0 pointsman logs --lines 1 second
    says_not lost err
    ends 1 pointsman fsck
    says "job 'second', attempt 1: 9 bytes of its output are lost: $cut" out
    says_not "'first'" out
    rm "$segment"
    ends 0 pointsman logs second
    same 'what is left' "$(wc -c <out)" 0
    lost second '15 bytes' 'its file is missing'
}
scenario 'a shared file that a power cut has shortened is found when it is read' \
    segment_is_cut

# Through the server: in the bytes of HTTP as a marked line, and behind -f.
file_is_cut() {
    make_base
    serve_begin
    pointsman run --id big -- sh -c 'yes 123456789 | head -n 20000' >whole
    serve_end
    file=$(find base/attempts/files -name '*.1' -o -name '*.1.zst')
    case $file in
    *.zst) zstd -q -d --rm "$file" ;;
    esac
    truncate -s 150005 "${file%.zst}"
    serve_begin
    lost big '49995 bytes' "$cut"
    ends 0 pointsman logs -f big
    head -c 150005 whole | cmp - out
    says 'pointsman: attempt 1: 49995 bytes of its output are lost' err
    curl -s --unix-socket base/ctrl/sock http://localhost/api/v1/jobs/big/logs >bytes
    says "[pointsman: attempt 1: 49995 bytes of its output are lost: $cut]" bytes
    curl -s --unix-socket base/ctrl/sock \
        'http://localhost/api/v1/jobs/big/logs?times=1' >lines
    says ' pointsman [pointsman: attempt 1: 49995 bytes' lines
    serve_end
}
scenario 'a file that lacks bytes is shown to its end, and what it lacks' \
    file_is_cut

# Nothing may grow beyond a megabyte.
disk_is_full() {
    make_base
    pointsman submit --id big -- sh -c 'yes 123456789 | head -n 200000'
    (
        ulimit -f 2048
        work
    )
    kept=$(pointsman logs --attempts --json big | jq .output_bytes)
    [ "$kept" -ge 1000000 ] && [ "$kept" -lt 2000000 ]
    lost big "$((2000000 - kept)) bytes" 'File too large'
    ends 0 pointsman logs big
    says "$((2000000 - kept)) bytes of its output are lost: File too large" err
    ends 0 pointsman fsck
}
scenario 'bytes that the disk refused to the last are counted' disk_is_full

# As if the disk had no inode for the file of the stamps.
origins_are_refused() {
    make_base
    pointsman submit --id first -- sh -c 'yes 123456789 | head -n 3000'
    work
    [ -e base/attempts/files/0/1.0.1.stamps ]
    : >base/attempts/files/0/2.0.1.stamps
    pointsman submit --id job -- sh -c 'yes 123456789 | head -n 3000'
    work
    why='the streams and times of its output are lost: File exists'
    ends 0 pointsman status job
    says "lost        $why" out
    ends 0 pointsman logs --attempts job
    says "    $why" out
    same 'bytes' "$(pointsman status --json job | jq .lost_bytes)" 0
    same 'origins' "$(pointsman status --json job | jq .lost_origins)" true
    same 'origins of another' \
        "$(pointsman status --json first | jq .lost_origins)" false
    ends 0 pointsman logs job
    same 'lines' "$(wc -l <out)" 3000
    says "attempt 1: $why" err
    ends 0 pointsman fsck
}
scenario 'streams and times that the disk refused are called lost' \
    origins_are_refused

# The write of the shared file is the daemon's only write(): SQLite uses
# pwrite64().
segment_is_refused() {
    make_base
    pointsman submit --id job -- echo 123456789
    cp -a base begun
    "$faulty" --only 'pointsman daemon' --log calls --fail ENOSPC -- \
        pointsman daemon exec --until-idle || :
    for call in $(grep ' write in pointsman daemon' calls |
        sed -n 's/^\([0-9]*\) .*/\1/p'); do
        rm -rf base
        cp -a begun base
        "$faulty" --only 'pointsman daemon' --at "$call" --fail ENOSPC -- \
            pointsman daemon exec --until-idle || :
        [ "$(pointsman status --json job | jq -r .state)" = 'done' ] || continue
        [ "$(pointsman status --json job | jq .lost_bytes)" = 0 ] || break
    done
    lost job '10 bytes' 'No space left on device'
    ends 0 pointsman logs job
    says '10 bytes of its output are lost: No space left on device' err
    ends 0 pointsman fsck
}
scenario 'a small output that the disk refused is marked' segment_is_refused

# begins ID [OPTION]...: a job that prints, says that it has begun, and lasts
begins() {
    id=$1
    shift
    pointsman submit --id "$id" "$@" -- sh -c 'trap "" TERM; echo printed
        [ -e free ] || echo >here; until [ -e free ]; do sleep 0.02; done'
    within cat here
}

task() {
    curl -s --unix-socket base/ctrl/sock \
        "http://localhost/api/v1/jobs/$1/tasks" | jq -r .status
}

# All of them were executing when the server was killed.
server_is_killed() {
    make_base 'concurrency = 4'
    mkfifo here
    serve_begin
    begins plain
    begins once --at-most-once
    begins cancelled
    echo x >node
    begins array --array node
    for id in plain once cancelled array; do
        pointsman logs --attempts --json $id >running
        says_not failed-to-start running
        says_not '"at":null' running
    done
    pointsman hold array plain
    within sh -c 'until [ "$(cat base/attempts/files/*/* | grep -c printed)" -ge 4 ]
        do :; done'
    for id in plain array; do
        pointsman logs --attempts $id >shown
        says '8 bytes' shown
        says_not 'started  ' shown
    done
    pointsman cancel cancelled
    kill -KILL "$server"
    expect_exit "$server" 137
    : >free
    work
    for id in plain once cancelled array; do
        pointsman logs --attempts --json $id >first
        pointsman logs --attempts --json $id | cmp first -
        says '"lost"' first
        same "bytes of $id" "$(jq .output_bytes first)" 8
        pointsman logs --attempts $id >shown
        says_not 'started  ' shown
        says_not failed-to-start first
        ends 0 pointsman logs --attempt 1 $id
        says printed out
        says 'some of its output may be lost: the attempt was cut short' err
    done
    same 'its end' "$(pointsman status --json cancelled | jq -r .state)" terminated
    serve_begin
    for id in plain array; do
        same "task of $id" "$(task $id)" lost
    done
    pointsman -q release array plain
    within pointsman wait plain array
    for id in plain array; do
        same "task of $id" "$(task $id)" 'done'
        pointsman logs --attempts --json $id >both
        same "attempts of $id" "$(jq -r .attempt both | tr '\n' ' ')" '1 2 '
    done
    serve_end
    pointsman logs --attempts --json array | head -n 1 | cmp - first
    ends 0 pointsman fsck
}
scenario 'an attempt that was cut short is not one that did not start' \
    server_is_killed

finish
