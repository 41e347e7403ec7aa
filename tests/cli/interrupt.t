# What signals do to run, and what happens when a host dies.
$ pointsman -q init
$ pointsman run --id long -- sleep 100 & p=$!; until pointsman status long 2>/dev/null | grep -q executing; do :; done; kill -TERM $p; wait $p
! pointsman: cancelling long; Ctrl-C again kills it
! pointsman: long: operator...
= 143
# The second one does not wait for those who do not listen.
$ pointsman run --id deaf --kill-wait 1h -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 1; done' >out & p=$!; until grep -qs deaf out; do :; done; kill -TERM $p; until pointsman status --json deaf | grep -q '"cancel_asked":true'; do :; done; kill -TERM $p; wait $p
! pointsman: cancelling deaf; Ctrl-C again kills it
! pointsman: deaf: operator...
= 137
# Who hangs up cancels too, however often: a job that died with its terminal
# would be run anew by whoever takes the roles next.
$ env --default-signal=HUP pointsman run --id hup -- sleep 100 & p=$!; until pointsman status hup 2>/dev/null | grep -q executing; do :; done; kill -HUP $p; kill -HUP $p 2>/dev/null; wait $p
! pointsman: cancelling hup; Ctrl-C again kills it
! pointsman: hup: operator...
= 143
# The reader of the output is gone: run directly, the command would get PIPE.
$ pointsman run --id endless -- yes | head -n 1
| y
! pointsman: endless: operator...
$ pointsman history endless | grep -o 'cancel asked.*'
| cancel asked <who>: output closed by its reader
# The words of who cancels a running one are kept.
$ pointsman run --id words -- sleep 100 & p=$!; until pointsman status words 2>/dev/null | grep -q executing; do :; done; pointsman cancel --because 'not needed' words; wait $p
! pointsman: words: operator...
= 143
$ pointsman history words | grep -o 'cancel asked.*'
| cancel asked <who>: not needed
# A run that found another one at work takes over when that one dies.
$ pointsman set queue.concurrency 1
$ pointsman run --id first --at-most-once -- sleep 100 & p=$!; until pointsman status first 2>/dev/null | grep -q executing; do :; done; pointsman run --id second -- echo taken over & q=$!; until pointsman status second >/dev/null 2>&1; do :; done; kill -KILL $p; wait $q
| taken over
$ pointsman wait first
! first: at-most-once..., exit code <n>
= 1
$ pointsman logs --attempts --json first | grep -o 'event":"[a-z-]*' | tail -n 1
| event":"lost
$ pointsman fsck
! 0 change sets, ... events, 0 problems
# `wait` goes on when its server dies. A server that has answered a later caller
# has accepted the connection of `wait`.
$ pointsman submit --id w --hold -- sh -c 'exit 6'
| w
$ pointsman serve --listen off >serve.log 2>&1 & s=$!; until [ -S .pointsman/ctrl/sock ] && pointsman status | grep -q 'server *running'; do :; done; pointsman wait w 2>wait.err & w=$!; until ls -l /proc/$w/fd | grep -q socket; do :; done; pointsman status >answer; pointsman status >answer; kill -KILL $s; until grep -q 'still waiting' wait.err; do kill -0 $w || break; done; pointsman release w; pointsman daemon all --until-idle; wait $w
= 6
$ sed 's/: [^;]*;/: ...;/' wait.err
| pointsman: ...; still waiting
| w: exit-6, exit code 6
