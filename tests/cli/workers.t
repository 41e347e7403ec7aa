# The worker in the server is called local.
$ pointsman -q init
$ pointsman workers
! pointsman: ...only a running server knows the workers; start `pointsman serve`
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
$ pointsman cancel s1
$ pointsman wait s1
! s1: operator..., exit code <n>
= 143
$ pointsman run -- sh -c 'echo $POINTSMAN_WORKER'
| local
