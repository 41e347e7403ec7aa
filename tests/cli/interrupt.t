# Signals to `run`, and the death of the process that runs the jobs.
$ pointsman -q init
$ pointsman run --id long -- sleep 100 & p=$!; until pointsman status long 2>/dev/null | grep -q executing; do :; done; kill -TERM $p; wait $p
! pointsman: cancelling long; Ctrl-C again kills it
! pointsman: long: interrupted...
= 143
# A second TERM does not wait for a job that ignores signals.
$ pointsman run --id deaf --kill-wait 1h -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 1; done' >out & p=$!; until grep -qs deaf out; do :; done; kill -TERM $p; until pointsman status --json deaf | grep -q '"cancel_asked":true'; do :; done; kill -TERM $p; wait $p
! pointsman: cancelling deaf; Ctrl-C again kills it
! pointsman: deaf: interrupted...
= 137
# HUP cancels the job too, however often it is sent: otherwise the next process
# that takes the roles would run the job again.
$ env --default-signal=HUP pointsman run --id hup -- sleep 100 & p=$!; until pointsman status hup 2>/dev/null | grep -q executing; do :; done; kill -HUP $p; kill -HUP $p 2>/dev/null; wait $p
! pointsman: cancelling hup; Ctrl-C again kills it
! pointsman: hup: interrupted...
= 143
# The reader of the output exits; without `run`, the command would get PIPE.
$ pointsman run --id endless -- yes | head -n 1
| y
$ pointsman history endless | grep -o 'cancel asked.*'
| cancel asked <who>: output closed by its reader
# The reason given for cancelling a running job is kept.
$ pointsman run --id words -- sleep 100 & p=$!; until pointsman status words 2>/dev/null | grep -q executing; do :; done; pointsman cancel --because 'not needed' words; wait $p
! pointsman: words: operator...
= 143
$ pointsman history words | grep -o 'cancel asked.*'
| cancel asked <who>: not needed
# A waiting `run` takes over when the `run` that has the roles dies.
$ pointsman set queue.concurrency 1
$ pointsman run --id first --at-most-once -- sleep 100 & p=$!; until pointsman status first 2>/dev/null | grep -q executing; do :; done; pointsman run --id second -- echo taken over & q=$!; until pointsman status second >/dev/null 2>&1; do :; done; kill -KILL $p; wait $q
| taken over
$ pointsman wait first
! first: at-most-once..., exit code <n>
= 1
$ pointsman logs --attempts --json first | grep -o 'event":"[a-z-]*' | tail -n 1
| event":"lost
$ pointsman fsck
! 0 change sets, ... events in their logs, 0 problems
# `wait` continues when its server dies. When the server has answered a later
# caller, it has accepted the connection of `wait`.
$ pointsman submit --id w --hold -- sh -c 'exit 6'
| w
$ pointsman serve --listen off >serve.log 2>&1 & s=$!; until [ -S .pointsman/ctrl/sock ] && pointsman status | grep -q 'server *running'; do :; done; pointsman wait w 2>wait.err & w=$!; until ls -l /proc/$w/fd | grep -q socket; do :; done; pointsman status >answer; pointsman status >answer; kill -KILL $s; until grep -q 'waiting for a server' wait.err; do kill -0 $w || break; done; pointsman release w; pointsman daemon all --until-idle; wait $w
= 6
$ sed 's/: [^;]*;/: ...;/' wait.err
| pointsman: ...; waiting for a server
| w: exit-6, exit code 6
