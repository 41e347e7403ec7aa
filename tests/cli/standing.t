# What holds the tasks of a standing job back, with a server that runs them.
$ pointsman -q init
$ printf '%s\n' '[nodes]' 'levels = host, shard' 'order = original' '[resource "connection"]' 'level = host' 'limit = 2' '[node-source "h"]' 'level = host' 'node = h1, h2 disabled' '[node-source "s"]' 'level = shard' 'range = 1-3' 'parents = host' 'format = {parent}s{i}' >>.pointsman/pointsman.conf
$ printf '%s\n' '[queue]' 'concurrency = 4' >>.pointsman/pointsman.conf
$ pointsman -q nodes refresh >/dev/null
$ mkfifo gate
$ pointsman -q job add copy resources.connection=1 kill_orphans_after=0 -- sh -c 'test -e open || read line <gate; echo $0 $POINTSMAN_PLACE'
$ pointsman -q job add next depends_on=copy -- true
& pointsman serve --listen off until .pointsman/ctrl/sock
$ until test $(pointsman tasks copy state:running | wc -l) = 3; do :; done
$ pointsman list | sed 's/^[^ ]* *//' | cut -c 1-28
| KIND      CLASS  STATE...
| standing  DC     executing...
| standing  DC     pending...
$ pointsman why copy | sed 's/^[^:]*: //'
| executing since ...
| of 6 nodes, 0 are done, 2 running, 0 failed and 1 could start if there were room; pointsman why ... --node NODE explains one of them
$ pointsman why copy --node h1s1 | sed 's/^[^:]*: //'
| attempt 1 runs
$ pointsman why copy --node h1s3 | sed 's/^[^:]*: //'
| h1 has 0 of connection left, and the task takes 1
$ pointsman why copy --node h2s1 | sed 's/^[^:]*: //'
| h2 is disabled
$ pointsman why next --node h1s2 | sed 's/^[^:]*: //'
| the task of copy on the same node is not done: running
| h1 has 0 of connection left, and the task takes 1
# A job that waits for all nodes of another one could start nothing, and has no
# tasks yet.
$ pointsman -q job add last after_all_nodes_of=copy -- true
$ pointsman why last | sed 's/^[^:]*: //'
| copy is not done on 6 nodes
| of 6 nodes, 0 are done, 0 running, 0 failed and 0 could start if there were room; pointsman why ... --node NODE explains one of them
$ pointsman tasks last | wc -l; pointsman tasks last --json | wc -l
| 0
| 0
$ pointsman job delete last
$ pointsman why copy --node h7
! pointsman: job '...' has no node 'h7' on its level
= 66
# A job that is disabled starts nothing, and what runs is killed.
$ pointsman job disable copy
$ until test $(pointsman tasks copy state:backoff | wc -l) = 3; do :; done
$ pointsman tasks copy
| TASK  STATUS   ATTEMPT  EXIT       TOOK  DETAIL
| h1s1  backoff  1        signal 15  ...s  killed, because its node or job was gone or disabled
| h1s2  backoff  1        signal 15  ...s  killed, because its node or job was gone or disabled
$ pointsman why copy --node h1s1 | sed 's/^[^:]*: //'
| held (disabled); lifted by: job enable
| backoff after attempt 1, not before ...
| its job is disabled
# Forgiven and enabled again, its tasks start at once, and then those of the next.
$ touch open
$ pointsman job forgive copy
$ pointsman job enable copy
$ until test $(pointsman tasks next state:done | wc -l) = 4; do :; done
$ pointsman tasks copy | cut -c 1-21 | sed 's/ *$//'
| TASK  STATUS  ATTEMPT
| h1s1  done    2
| h1s2  done    2
| h1s3  done    1
$ pointsman logs copy --node h1s3
| h1s3 h1/h1s3
# A job that is deleted ends; another one may have its name.
$ pointsman job delete next copy
$ pointsman list --all | grep -c terminated
| 3
$ pointsman -q job add copy -- true
$ until test $(pointsman tasks copy state:done | wc -l) = 4; do :; done
