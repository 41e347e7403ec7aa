# `run` without a server: the process itself runs the job.
$ pointsman -q init
$ pointsman run -- echo hello
| hello
$ pointsman run echo -n no dashes needed
| no dashes needed
$ pointsman run -- sh -c 'echo out; echo err >&2; exit 7'
| out
! err
= 7
$ pointsman run -- sh -c 'kill -9 $$'
! pointsman: <id>: signal-9
= 137
$ pointsman run -- no-such-program
! pointsman: <id>: perm: cannot execute 'no-such-program': ...
= 127
$ echo text >file; pointsman run -- ./file
! pointsman: <id>: perm: cannot execute './file': not executable
= 126
$ pointsman wait @last
= 126
$ pointsman run -- /
! pointsman: <id>: perm: cannot execute '/': not executable
= 126
$ printf '#!/no/such/interpreter\n' >script; chmod +x script; pointsman run -- ./script
! pointsman: <id>: perm: cannot execute './script': the interpreter it names is missing
= 127
$ pointsman logs --attempts --json @last | jq -c '[.reason, .exit_code]'
| ["perm",127]
$ printf '#!/%0300d/sh\nexit 0\n' 0 >script; pointsman run -- ./script
! pointsman: <id>: perm: cannot execute './script': ...
= 126
$ pointsman run -- sed -n 's/^SigIgn://p' /proc/self/status
| 	0000000000000000
$ pointsman run -- 'echo one; echo two'
! pointsman: <id>: perm: cannot execute 'echo one; echo two': ... sh -c 'LINE'
= 127
$ pointsman run --timeout 1 -- sleep 100
! pointsman: <id>: timeout: stopped after --timeout ...
= 143
# A temporary failure ends the job, unless retries were requested.
$ pointsman run -- sh -c 'exit 75'
! pointsman: <id>: temp-ended: ...
= 75
$ pointsman run -q -- sh -c 'exit 111'
= 111
$ pointsman run --retries 1 -- sh -c 'echo x >>tries; test $(wc -l <tries) = 2'
$ wc -l <tries
| 2
# The environment of a job.
$ pointsman run --env A=1 --env B=2 -- sh -c 'echo $A$B $POINTSMAN_ATTEMPT'
| 12 1
$ X=y pointsman run --env X -- sh -c 'echo $X'
| y
$ X=y pointsman run -- sh -c 'echo "[$X]"'
| []
$ umask 027; pointsman run -- sh -c umask
| 0027
$ mkdir sub; cd sub; pointsman run -- pwd
| .../sub
$ pointsman run -- cat
# Tasks that were assigned ahead and then wait for a long one count no attempt.
$ seq 40 >many; pointsman set queue.concurrency 1; pointsman run --array many -- sh -c 'test {} != 20 || sleep 0.3; echo attempt $POINTSMAN_ATTEMPT' | sort | uniq -c | sed 's/^ *//'
| 40 attempt 1
# An array has one task for each line.
$ printf 'one\n\ntwo\n' >list; pointsman run --array list -- echo [ {} ] | sort
| [ one ]
| [ two ]
$ pointsman run --array list -- echo '<{#}={}>' | sort
| <1=one>
| <2=two>
$ pointsman run --array list -- sh -c 'test $POINTSMAN_NODE = one'
= 1
# or for each number of ranges, in whatever word they are named.
$ pointsman run --array 8-12:2,001-002 -- echo --out={}.txt '{{}}={{#}}' {#} | sort
| --out=001.txt {}={#} 4
| --out=002.txt {}={#} 5
| --out=10.txt {}={#} 2
| --out=12.txt {}={#} 3
| --out=8.txt {}={#} 1
$ printf 'in a file\n' >1-2; pointsman run --array ./1-2 -- echo
| in a file
# A job that is tried again says when.
$ pointsman run --id again --retries 1 -- sh -c 'test -e tried || { : >tried; echo busy; exit 75; }; echo done'
| busy
! pointsman: again: attempt 1: temp: exited with 75 (temporary failure); next attempt at 20...Z
| done
$ pointsman logs -f again
! pointsman: again: done since 20...Z: ok
| done
$ pointsman logs again
| done
