# Arrays: how many tasks run at once.
$ pointsman -q init; pointsman set queue.concurrency 4
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman submit --id few --max-running 2 --array 1-6 -- sh -c 'echo >ran.{}; until test -e go.{}; do sleep 0.02; done'
| few
$ until [ $(ls ran.* 2>/dev/null | wc -l) -ge 2 ]; do :; done; pointsman status few | grep running
| tasks       0 of 6 done, 2 running
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
# What runs after them: any end, a failure, a share of the tasks.
$ pointsman submit --id part --array 1-10 --max-running 1 -- sh -c 'until test -e pass.{}; do sleep 0.02; done; test {} != 3'
| part
$ for i in any:--after-any failed:--after-failed; do pointsman submit --id ${i%:*} ${i#*:} part -- true; done; pointsman submit --id most --after 'part[60%]' -- true; pointsman submit --id nearly --after 'part[95%]' -- true
| any
| failed
| most
| nearly
$ pointsman status most | grep after; pointsman depends any
| after-share part[60%]
| precursor   part  executing ...
| after-any   part  executing ...
$ pointsman depends --tree any | cut -d ' ' -f 1-5; pointsman dependents --tree part | grep -c 'any\|failed\|most\|nearly'
| any  ...
|   part  executing
| 4
$ touch pass.1 pass.2; until pointsman why most | grep -q '2 of 10'; do :; done; pointsman why any failed most
| any: dependency part is executing since <time>; it must have ended, in any way
| failed: dependency part is executing since <time>; it must fail
| most: dependency part is executing since <time>; 60% of its tasks must be done, and 2 of 10 are
$ touch pass.3; pointsman wait nearly
! nearly: dep-failed: dependency part can no longer have 95% of its tasks done: 1 of 10 failed, exit code 1
= 1
$ touch pass.4 pass.5 pass.6 pass.7; pointsman wait most; pointsman status part | grep '^state'
| state       executing ...
$ pointsman submit --id never --after-failed most -- true; pointsman wait never
| never
! never: dep-failed: dependency most did not fail, and this job runs only after its failure, exit code 1
= 1
$ touch pass.8 pass.9 pass.10; pointsman wait any failed
$ pointsman submit --id late --after 'part[90%]' -- true; pointsman wait late
| late
$ pointsman submit --id later --after 'part[91%]' -- true; pointsman wait later
| later
! later: dep-failed: dependency part failed with 9 of 10 tasks done, not 91%, exit code 1
= 1
# A server that is killed loses nothing of that.
$ pointsman submit --id cut2 --array 1-4 --max-running 1 -- sh -c 'until test -e pass2.{}; do sleep 0.02; done; test {} != 4'; pointsman submit --id three --after 'cut2[75%]' -- true; pointsman submit --id end --after-any cut2 -- true; pointsman submit --id all --after 'cut2[100%]' -- true; pointsman submit --id lone --singleton k -- true; pointsman -q wait lone
| cut2
| three
| end
| all
| lone
$ touch pass2.1 pass2.2; until pointsman why three | grep -q '2 of 4'; do :; done; kill -9 $(cat .pointsman/ctrl/serve.pid); until pointsman list >list 2>&1; do :; done; pointsman why three end | grep ': dependency'
| three: dependency cut2 is executing since <time>; 75% of its tasks must be done, and 2 of 4 are
| end: dependency cut2 is executing since <time>; it must have ended, in any way
& pointsman serve --listen off 2>served until .pointsman/ctrl/sock
$ touch pass2.3; pointsman wait three; touch pass2.4; pointsman wait end; pointsman wait all
! all: dep-failed: dependency cut2 failed with 3 of 4 tasks done, not 100%, exit code 1
= 1
$ pointsman status end three | grep '^state' | cut -d ' ' -f 1-8
| state       done
| state       done
# One at a time.
$ for i in 1 2 3; do pointsman submit --id s$i --singleton report -- sh -c "echo $i >>order; until test -e go.s$i; do sleep 0.02; done"; done
| s1
| s2
| s3
$ pointsman submit --id other --singleton other -- true; pointsman submit --id touch --touches report -- true; pointsman wait other touch; pointsman why s3; pointsman status s2 | grep single
| other
| touch
| s3: precursor s2 is staged since <time>: both have the singleton key 'report'; at the front of that queue: s1 (executing)
| singleton   report
$ touch go.s1 go.s2 go.s3; pointsman wait s1 s2 s3; cat order
| 1
| 2
| 3
$ pointsman submit --after 'x[0%]' -- true
! pointsman: after: 'x[0%]' is not an id with a share from 1 to 100, such as ID[60%]
= 65
$ pointsman submit --after 'x[101%]' -- true
! pointsman: after: 'x[101%]' is not an id with a share from 1 to 100, such as ID[60%]
= 65
$ pointsman submit --after 'x[-5%]' -- true
! pointsman: after: 'x[-5%]' is not an id with a share from 1 to 100, such as ID[60%]
= 65
$ pointsman submit --after 'x[60%]' --after x -- true
! pointsman: after: 'x' is there twice
= 65
$ pointsman submit --after-any 'x[60%]' -- true
! pointsman: after_any: 'x[60%]' is not an id
= 65
$ pointsman submit --id self --after-failed self -- true
! pointsman: '--after-failed' names the job itself
= 65
$ pointsman submit --singleton '' -- true
! pointsman: '--singleton' is a key that is empty, longer than 4096 bytes or more than a line
= 65
