# The same commands with a server.
$ pointsman -q init
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman status | tail -1
| server      running
$ pointsman run -- echo served
| served
$ pointsman run -- sh -c 'exit 9'
= 9
$ pointsman serve --listen off
! pointsman: ...
= 99
$ pointsman daemon exec --once
! pointsman: ...
= 99
$ pointsman submit --id slow -- sleep 100
| slow
$ pointsman cancel slow
$ pointsman wait slow
! slow: operator..., exit code 143
= 143
$ pointsman submit --id one -- sh -c 'echo first; exit 3'
| one
$ pointsman submit --id two -- true
| two
$ pointsman wait two one
! one: exit-3..., exit code 3
= 3
$ pointsman logs one
| first
$ pointsman logs -f one
! pointsman: one: failed since ...: exit-3
| first
$ pointsman logs --json one
| {"line":1,"text":"first"}
$ pointsman logs --attempts one
| attempt 1  failed  started ...  ended ...  exit code 3  6 bytes
$ pointsman --server unix:.pointsman/ctrl/sock status one | head -1
| one
$ seq 1000 >numbers; pointsman run --id n -- cat numbers | tail -1
| 1000
$ pointsman logs --tail 2 n
| 999
| 1000
$ pointsman logs --lines 10-12 n
| 10
| 11
| 12
$ pointsman submit --id s1 --touches db -- true
| s1
$ pointsman wait s1
$ pointsman file db | tail -1
| s1 ...
$ pointsman set queue.concurrency 7
$ pointsman settings | grep concurrency
| queue.concurrency      7            set ...
# The running server uses the new setting at once.
$ pointsman set queue.concurrency 1
$ pointsman submit --id only -- sleep 100
| only
$ until pointsman list --json only | grep -q '"state":"executing"'; do :; done
$ pointsman submit --id next -- true
| next
# If all earlier jobs were short, the job may be handed over early for a moment.
$ until pointsman why next | grep -q slot; do :; done
$ pointsman why next
| next: slot: all 1 are busy (1 running); see [queue] concurrency
$ pointsman cancel only
$ pointsman wait next
$ pointsman set queue.concurrency
$ pointsman settings | grep concurrency
| queue.concurrency      4            default ...
# A running job reports its progress.
$ pointsman submit --id live -- sh -c 'echo "40 linking" >&4; sleep 100'
| live
$ until pointsman status live | grep -q progress; do :; done; pointsman status live | grep -o 'progress .*'
| progress    40 linking
$ pointsman cancel live; pointsman wait live
! live: operator..., exit code <n>
= 143
# A search through a large output does not block other callers. (If the submit
# itself was slow, the test is repeated.)
$ pointsman run --id large -- sh -c 'yes | head -c 60000000' >large; wc -c <large
| 60000000
$ for turn in 1 2 3 4 5; do rm -f over; (pointsman logs --grep nothing large; : >over) & g=$!; pointsman submit -- true >said; pointsman submit -- true >said; test ! -e over; kept=$?; wait $g; test $kept = 0 && break; done; echo $kept
| 0
