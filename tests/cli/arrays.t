# Arrays: how many tasks run at once.
$ pointsman -q init; pointsman set queue.concurrency 4
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman submit --id few --max-running 2 --array 1-6 -- sh -c 'echo >ran.{}; until test -e go.{}; do sleep 0.02; done'
| few
$ until [ $(ls ran.* 2>/dev/null | wc -l) -ge 2 ]; do :; done; pointsman status few | grep running
| max running 2
$ pointsman why few
| few: executing since <time>, attempt 1
| few: at most 2 of its tasks run at once (--max-running), and 4 wait; pointsman limit few changes that
$ pointsman status --json few | grep -o '"max_running":[0-9]*' | head -1
| "max_running":2
# The limit changes at once; a smaller one ends nothing.
$ pointsman limit --max-running 3 --because 'the disk is idle' few; until test -e ran.3; do :; done; ls ran.*
| ran.1
| ran.2
| ran.3
$ pointsman limit --max-running 1 few; touch go.1 go.2; until [ $(pointsman status few --json | grep -o '"tasks_done":[0-9]*' | cut -d: -f2) = 2 ]; do :; done; ls ran.*
| ran.1
| ran.2
| ran.3
$ pointsman limit --max-running 0 few; until test -e ran.6; do :; done; pointsman status few | grep -c 'max running' || :
| 0
$ touch go.3 go.4 go.5 go.6; pointsman wait few
$ pointsman history few | grep -o 'limit .*' | cut -d ' ' -f 1,2,4-
| limit 3 the disk is idle
| limit 1
| limit 0
$ pointsman limit --max-running 1 few
! pointsman: job 'few' has ended already: done
= 100
$ pointsman submit --id one -- true
| one
$ pointsman limit --max-running 1 one
! pointsman: job 'one' is not an array: it has only one task
= 100
$ pointsman limit one
! pointsman: say how many tasks may run at once: --max-running N; 0: as many as there are slots
= 64
$ pointsman limit --max-running -1 one
! pointsman: '--max-running' must be...
= 64
# The failed tasks again; what is done stays done.
$ touch broken; pointsman submit --id night --array 1-8 -- sh -c 'echo >>tried.{}; test {} -gt 2 || test ! -e broken'
| night
$ pointsman wait night
! night: failed: 2 of 8 tasks failed, exit code 1
! pointsman tasks night state:failed lists the tasks that failed
= 1
$ rm broken; pointsman retry --failed night; pointsman wait night; cat tried.1 tried.2 | wc -l; cat tried.[3-8] | wc -l
| 4
| 6
$ pointsman retry --failed night
! pointsman: job 'night' has not failed: done
= 100
$ pointsman submit --id cut --max-running 1 --array 1-3 -- sh -c 'test {} != 1 || exit 3; echo >began; until test -e never; do sleep 0.02; done'
| cut
$ until test -e began; do :; done; pointsman retry --failed cut
! pointsman: job 'cut' has not ended: executing
= 100
$ pointsman -q cancel cut; pointsman -q wait cut; pointsman retry --failed cut
! pointsman: job 'cut' ended before 1 of its tasks ran; retry it without --failed to run these too
= 100
$ pointsman retry --failed --match state:failed
! pointsman: --failed needs the IDs of arrays; it cannot be combined with --match
= 64
