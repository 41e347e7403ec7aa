# The worker in the server is called local.
$ pointsman -q init
$ pointsman workers
! pointsman: ...only a running server knows the workers; start `pointsman serve`
= 69
$ pointsman tasks
! pointsman: ...only a running server knows the running tasks of all jobs; start `pointsman serve`, or name a job
= 69
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman set queue.concurrency 2
$ pointsman submit --id s1 -- sleep 100
| s1
$ until pointsman status s1 | grep -q executing; do :; done
$ pointsman workers
| WORKER  STATE    SLOTS  ASSIGNED  AWAITED
| local   healthy  2      1         0
$ pointsman workers --json
| {"worker":"local","state":"healthy","slots":2,"assigned":1,"awaited":0}
$ pointsman tasks s1 --json | grep -c '"worker":"local"'
| 1
# Without an ID, tasks lists what runs of all jobs.
$ pointsman submit --id s2 --array 7-9 -- sleep 100; until pointsman tasks node:7 | grep -q running; do :; done
| s2
$ pointsman tasks | sed 's/ *$//'
| JOB  TASK  STATUS   ATTEMPT  WORKER  TOOK
| s1         running  1        local   ...
| s2   7     running  1        local   ...
| ...
$ pointsman tasks node:7 --json
| {"job":"s2","node":"7","status":"running","attempt":1,"worker":"local","awaited":false,"assigned":"..."}
$ pointsman tasks node:s1 state:running | wc -l; pointsman tasks state:done | wc -l
| 2
| 0
$ pointsman cancel s2; pointsman wait s2 2>said; pointsman tasks -- -node:s1 | wc -l
| 0
$ pointsman tasks colour:red
! pointsman: ...
= 64
$ pointsman cancel s1
$ pointsman wait s1
! s1: operator..., exit code <n>
= 143
$ pointsman run -- sh -c 'echo $POINTSMAN_WORKER'
| local
