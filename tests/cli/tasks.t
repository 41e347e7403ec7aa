# How tasks are started, limited and ended.
$ pointsman -q init
$ pointsman run --limit nofile=37 --limit core=0 -- sh -c 'ulimit -n; ulimit -c'
| 37
| 0
$ pointsman -q run --sandbox on -- sh -c 'echo x >../out' >said; test ! -e ../out
# More open files than the kernel allows.
$ pointsman run --limit nofile=unlimited -- true
! pointsman: <id>: perm: cannot set limit 'nofile' to unlimited: ...
= 125
# Terminal escapes are printed in an escaped form.
$ pointsman run --id odd -- sh -c true "$(printf '\033[2J')"; pointsman status odd | grep what
| what        sh -c true '\x1b[2J'
$ pointsman run --kill-method shoot -- true
! pointsman: '--kill-method' = 'shoot' is not one of term-wait-kill|term|kill
= 64
$ pointsman run --kill-method term --kill-wait 5 -- true
! pointsman: '--kill-wait' has no meaning with '--kill-method' = 'term': ...
= 65
$ pointsman run --user no-such-user-here -- true
! pointsman: no user 'no-such-user-here' on this machine
= 125
$ echo '{"command":["sh","-c","ulimit -n"],"limit":{"nofile":40}}' | pointsman submit --batch
| j<ID>
$ pointsman daemon all --until-idle; pointsman logs @last
| 40
# The time limit kills a task that ignores TERM. (If the task was killed before
# it ignored TERM, the test is repeated.)
$ rm -f deaf; until [ -e deaf ]; do pointsman run --timeout 1 --kill-wait 10ms -- sh -c 'trap "" TERM; : >deaf; sleep 100' 2>said; s=$?; done; cat said >&2; exit $s
! pointsman: <id>: timeout...
= 137
# A status line may be a word or JSON.
$ pointsman run --id full1 -- sh -c 'echo temporary disk full >&3'
! pointsman: full1: temp-ended: disk full
= 143
$ pointsman run --id full2 -- sh -c 'echo "{\"status\":\"temporary\",\"reason\":\"disk full\"}" >&3'
! pointsman: full2: temp-ended: disk full
= 143
$ pointsman run -- sh -c 'sleep 0.2; echo done'
| done
$ pointsman logs --attempts --json @last | grep -o 'event":"[a-z-]*'
| event":"running
| event":"exited
| event":"pipes-closed
| event":"reaped
$ pointsman run -- /no/such/program
! pointsman: <id>: perm: cannot execute '/no/such/program': no such program
= 127
$ pointsman logs --attempts @last
| attempt 1  failed  assigned ...  ended ...  0 bytes
|     cannot execute '/no/such/program': no such program
$ pointsman logs --attempts --json @last | grep -o 'event":"[a-z-]*'
| event":"failed-to-start
$ pointsman run -- sh -c 'echo done >&3'; pointsman logs --attempts --json @last | grep -o 'event":"[a-z-]*'
| event":"running
| event":"exited
| event":"pipes-closed
| event":"got-status
| event":"reaped
$ pointsman run -- sh -c 'sleep 0.2; echo done'
| done
$ pointsman status @last
| <id>
| ...
| used        CPU <s> s, memory <m> MiB
| ...
# What each attempt used is in the history, the tasks and the report, also of
# arrays and of attempts that failed.
$ pointsman submit --id used --array 1-2 -- sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; test {} = 1'; pointsman -q daemon all --until-idle
| used
$ pointsman history used | grep -o '(CPU.*' | wc -l; pointsman history used --json | jq -c 'select(.cpu_us != null)|[.kind,.reason,.attempt,.cpu_us>0,.peak_kib>0]' | sort
| 2
| ["task","done",1,true,true]
| ["task","failed",1,true,true]
$ pointsman tasks used --json | jq -c '[.node,.attempt,.cpu_us>0,.peak_kib>0]'
| ["1",1,true,true]
| ["2",1,true,true]
$ test $(pointsman status used --json | jq '.cpu_us') = $(pointsman logs used --attempts --json | jq -s 'map(.cpu_us)|add')
$ pointsman report --json | jq -c '[.cpu_us>0,.peak_kib>0]' | sort -u
| [true,true]
$ pointsman submit --id later --hold -- true; pointsman tasks later --json | jq -c '[.cpu_us,.peak_kib]'
| later
| [null,null]
# Arguments as Bistro workers pass them.
$ pointsman run --id b1 --argv-style bistro -- sh -c 'echo "$1 $2"; echo "$3"; echo done >"$2"' x
| local /dev/fd/3
| {"id":"b1","path_to_node":["local"],"config":{},"resources_by_node":{},"worker_node":"local","worker_host":"..."}
$ printf 'n1\n' >nodes; pointsman submit --id b2 --argv-style bistro --array nodes -- sh -c 'echo "$1"' x; pointsman daemon all --until-idle; pointsman logs b2
| b2
| n1
$ pointsman run --log-rate fast -- true
! pointsman: '--log-rate' = 'fast' is not a number in its range
= 64
# Searches in a long output.
$ pointsman run --id g -- sh -c 'seq 1 30000; printf "the Last one"' >all; wc -l <all
| 30000
$ pointsman logs --grep '^(29|1)9{3}$' g
| 1999
| 29999
$ pointsman logs --grep 'last|^7$' --ignore-case g
| 7
| the Last one
$ pointsman logs --grep '(a|a)*(a*)*b' g
$ pointsman logs --grep '*' g
! pointsman: '*' is not a regular expression: nothing to repeat at character 1
= 64
# A large output is compressed when its attempt has ended; readers see no
# difference.
$ pointsman run --id packed -- sh -c 'seq 1 200000; printf "\033[1mend\033[0m"' >all; find .pointsman/attempts/files -name '*.zst' | wc -l; pointsman logs packed | cmp - all
| 2
$ pointsman logs --lines 100000-100001 packed; pointsman logs --tail 1 packed | wc -c; pointsman logs --grep '^77777$' packed; find .pointsman/attempts/files -type f ! -name '*.zst' -size +63k | wc -l
| 100000
| 100001
| 11
| 77777
| 0
# --kill sends only KILL, never TERM, whichever process runs the task. (Each
# case uses its own files.)
$ pointsman run --id k1 -- sh -c 'trap "echo heard; exit 3" TERM; echo ready; while :; do sleep 0.05; done' >out 2>said & p=$!; until grep -qs ready out; do :; done; pointsman cancel --kill k1; wait $p; echo $?; cat out
| 137
| ready
$ pointsman run --id k2 --kill-wait 1h -- sh -c 'trap "echo heard" TERM; echo ready; while :; do sleep 0.05; done' >k2 2>said & p=$!; until grep -qs ready k2; do :; done; pointsman cancel k2; until grep -q heard k2; do :; done; pointsman cancel --kill --match id:k2 --yes; wait $p; echo $?
| 1
| 137
# Each line of output has a time and a stream, which options select. Data that
# was written to two pipes before the supervisor reads them has no order.
$ pointsman run --id two -- sh -c 'read_was() { until pointsman logs two 2>/dev/null | grep -q "$1"; do :; done; }; printf par; read_was par; echo problem >&2; read_was problem; echo tial; echo last' 2>said >out; cat out; echo --; cat said
| partial
| last
| --
| problem
$ pointsman logs --times two | cut -d ' ' -f 2-
| err problem
| out partial
| out last
$ pointsman logs --stream err two; pointsman logs --stream out --tail 2 two; pointsman logs --times --json --stream err two
| problem
| partial
| last
| {"line":1,"time":"...","stream":"err","text":"problem"}
$ pointsman logs --stream both two
! pointsman: 'stream' = 'both' is neither out nor err
= 64
$ pointsman run --id small -- sh -c 'echo err >&2' 2>said; pointsman logs --times small | cut -d ' ' -f 2-; pointsman logs --stream out small
| err err
# An output without stamps stays readable.
$ rm .pointsman/attempts/files/*/*.stamps; pointsman logs --times two
| - - parproblem
| - - tial
| - - last
$ pointsman logs --stream err two; pointsman logs --stream out --tail 1 two; pointsman logs --times --json --tail 1 two
| last
| {"line":1,"time":null,"stream":null,"text":"last"}
# A refused limit is no missing command; a foreign program is no script.
$ pointsman run --limit nofile=9999999999 -- true
! pointsman: <id>: perm: cannot set limit 'nofile' to 9999999999: Operation not permitted
= 125
$ printf '\177ELF\002\001\001\0\0' >foreign && chmod +x foreign && pointsman run -- ./foreign
! pointsman: <id>: perm: cannot execute './foreign': Exec format error
= 126
$ printf 'echo a script\n' >script && chmod +x script && pointsman run -- ./script
| a script
# The tasks of an array are shown in the order of its lines, and one of them by
# its node.
$ seq -f item%g 11 >items; pointsman submit --id night --array items -- sh -c 'echo out {}; test {} != item7'; pointsman daemon all --until-idle
| night
$ pointsman logs night | tr '\n' ' '
| out item1 out item2 out item3 out item4 out item5 out item6 out item7 out item8 out item9 out item10 out item11 
$ pointsman logs --attempts night | cut -d ' ' -f 4 | tr '\n' ' '
| item1 item2 item3 item4 item5 item6 item7 item8 item9 item10 item11 
$ pointsman logs --attempts --node item10 night
| attempt 1 on item10  done  started ... exit code 0  11 bytes
$ pointsman logs night/item10; pointsman logs --attempts night/item7
| out item10
| attempt 1 on item7  failed  started ... exit code 1  10 bytes
| ...
$ pointsman logs --attempts --node item99 night
! pointsman: job 'night' has no task 'item99'; pointsman tasks night lists them
= 66
$ pointsman logs --node item99 night
! pointsman: job 'night' has no task 'item99'; pointsman tasks night lists them
= 66
$ pointsman logs --node item1 --attempt 2 night
! pointsman: job 'night' has no attempt that matches
= 66
# Which of them failed, and what they printed.
$ pointsman tasks night state:failed
| TASK   STATUS  ATTEMPT  EXIT  TOOK  DETAIL
| item7  failed  1        1     0...s ...
$ pointsman tasks night -- 'node~m1' -node:item1; pointsman tasks night state:running,lost
| TASK    STATUS  ATTEMPT  EXIT  TOOK  DETAIL
| item10  done    1        0     ...
| item11  done    1        0     ...
$ pointsman tasks night 'node:*1,"item10"' -- '-item1"1"' | cut -d' ' -f1
| TASK
| item1
| item10
$ pointsman tasks --json night item7
| {"job":"night","node":"item7","status":"failed","attempt":1,"worker":"local","not_before":null,"started":"...","ended":"...","exit_code":1,"signal":null,"detail":"...","cpu_us":<n>,"peak_kib":<n>}
$ pointsman tasks night state:faild
! pointsman: filter, at byte 7: unknown state of a task 'faild', did you mean 'failed'?
= 64
$ pointsman tasks night color:red
! pointsman: filter, at byte 1: unknown field 'color'; use state, node
= 64
$ pointsman logs --failed --label night; pointsman logs --failed --attempts night
| item7: out item7
| attempt 1 on item7  failed ...
| ...
$ pointsman logs --label --times --node item2 night
| 20...Z out item2: out item2
$ pointsman logs --label night | head -2
| item1: out item1
| item2: out item2
$ pointsman logs -f --failed night
! ...
! pointsman: 'failed' shows tasks that have ended, so it cannot be combined with 'follow'
= 64
$ pointsman logs --json --label night
! pointsman: --label is for lines of text; with --json, choose a task with --node
= 64
$ pointsman submit --id only -- printf 'no line feed'; pointsman daemon all --until-idle; pointsman logs --label only; pointsman tasks only
| only
| only: no line feed
| TASK  STATUS  ATTEMPT  EXIT  TOOK  DETAIL
| only  done    1        0     ...
$ pointsman logs --failed only
! pointsman: no task of job 'only' has failed
= 66
$ pointsman logs --node item7 night/item7
! pointsman: give JOB/NODE or --node, not both: 'night/item7'
= 64
$ pointsman why night/item7
! pointsman: 'night/item7' is not a job, but a task of 'night': name the job, only logs takes a single task
= 66
$ pointsman wait night/item7
! pointsman: 'night/item7' is not a job, but a task of 'night': name the job, only logs takes a single task
= 66
