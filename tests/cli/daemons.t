# The drop directories as a script uses them (doc/origins.md): tarballs are
# written by hand and moved into place with mv, and three separate daemons run.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
# Sets without ##base overwrite files here; by default that is a conflict.
$ sed -i 's/^blind = unchanged/blind = allow/' .pointsman/pointsman.conf && grep -c '^blind = allow' .pointsman/pointsman.conf
| 1
$ cd .pointsman && ls -d tmp data prequeue queue staging pending run done fail term abandon reject log ctrl | wc -l
| 14
$ cd .pointsman/ctrl && ls *_fifo
| clock_fifo
| exec_fifo
| nodes_fifo
| prequeue_fifo
| queue_fifo
# mkset CSID SECONDS CLASS FILE [SECTION LINE]: writes a tarball and its marker.
$ printf '%s\n' 'set -e; b=.pointsman; n=$1_@40000000$200000000_17_here_$3; mkdir -p t/lroot; rm -rf t/*; mkdir t/lroot; echo $1 >t/lroot/$4' 'printf "##movetype\n$3\n##target\nmain\n##files\n$4\n" >t/meta; [ -z "$5" ] || printf "$5\n$6\n" >>t/meta; tar -C t -cf $b/tmp/$n meta lroot' 'mv $b/tmp/$n $b/data/$n; : >$b/tmp/$n; mv $b/tmp/$n $b/prequeue/$n' >mkset
$ sh mkset C1 44332a01 DC f
$ sh mkset C2 44332a02 DC g '##dependencies' C1
$ sh mkset C3 44332a03 BF f
$ sh mkset C4 44332a04 EM h
$ ls .pointsman/prequeue | cut -d_ -f1
| C1
| C2
| C3
| C4
# The prequeue daemon moves sets from prequeue/ to queue/, state Q.
$ pointsman daemon prequeue --once
$ ls .pointsman/prequeue | wc -l
| 0
$ ls .pointsman/queue | cut -d_ -f1
| C1
| C2
| C3
| C4
$ pointsman list --json | grep -c '"state":"queued"'
| 4
# The queue daemon works in priority order: C3 touches f before C1 does.
$ pointsman daemon queue --once
$ ls .pointsman/pending | cut -d_ -f1
| C3
| C4
$ ls .pointsman/staging | cut -d_ -f1
| C1
| C2
$ grep -A1 '##precursors$' .pointsman/staging/C1_*
| ##precursors
| C3
$ pointsman why C1
| C1: ...C3...
| ...
$ pointsman why C2
| C2: dependency C1 is staged...
| ...
# The exec daemon runs as many jobs as --jobs says, the emergency first.
$ pointsman daemon exec --until-idle --jobs 1
$ ls .pointsman/done | cut -d_ -f1
| C4
$ pointsman daemon exec --until-idle
$ ls .pointsman/done | cut -d_ -f1
| C3
| C4
$ pointsman daemon all --until-idle
$ ls .pointsman/done | cut -d_ -f1
| C1
| C2
| C3
| C4
$ git -C project.git log --format=%b main | grep CS-Id
| CS-Id: C2
| CS-Id: C1
| CS-Id: C3
| CS-Id: C4
$ git -C project.git show main:f
| C1
# The file in log/ begins with the id and what it depends on.
$ head -1 .pointsman/log/C2
| C2 C1
$ cut -d' ' -f3-4 .pointsman/log/C2 | tail -n +2
| - Q
| Q Q
| Q S
| S P
| P P
| P X
| X X
| X D
# Moving a file to term/ by hand cancels the set.
$ sh mkset C5 44332a05 DC k
$ pointsman daemon prequeue --once
$ mv .pointsman/queue/C5_* .pointsman/term/
$ pointsman daemon queue --once
$ pointsman list --json C5 | grep -c '"state":"terminated"'
| 1
# A file that is not a set goes to reject/, with the reason.
$ : >.pointsman/prequeue/nonsense
$ pointsman daemon prequeue --once
! ...
$ ls .pointsman/reject
| nonsense
| nonsense.why
# Sets that are in prequeue/ together are ordered by class, not by arrival.
$ sh mkset D1 44332a06 DC l && sh mkset D2 44332a07 DC m && sh mkset D3 44332a08 BF n && sh mkset D4 44332a09 EM o
$ pointsman daemon all --until-idle
$ git -C project.git log -4 --format='%(trailers:key=CS-Id,valueonly,separator=%x20)' main
| D2
| D1
| D3
| D4
# The daemons trigger each other, so that none waits for its next poll.
$ sed -i 's/^# poll = 10$/poll = 3600/' .pointsman/pointsman.conf && grep -c '^poll' .pointsman/pointsman.conf
| 1
& pointsman daemon exec until .pointsman/ctrl/exec.pid
& pointsman daemon prequeue until .pointsman/ctrl/prequeue.pid
& pointsman daemon queue until .pointsman/ctrl/queue.pid
$ pointsman daemon queue --once
! pointsman: ...
= 99
$ sh mkset E1 44332a0a DC l && sh mkset E2 44332a0b DC l && echo >.pointsman/ctrl/prequeue_fifo
$ until pointsman wait --timeout 100s E1 E2 2>told; do grep -q 'E[12]' told || break; done
$ git -C project.git log -2 --format='%(trailers:key=CS-Id,valueonly,separator=%x20)' main
| E2
| E1
$ pointsman fsck
! 11 change sets, ... events in their logs, 0 problems
