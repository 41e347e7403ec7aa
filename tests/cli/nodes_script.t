# A script prints the nodes below each parent.
$ pointsman -q init
$ printf '%s\n' '[nodes]' 'levels = host, shard' 'retry = 1' '[node-source "hosts"]' 'level = host' 'node = h1, h2' '[node-source "shards"]' 'level = shard' 'parents = host' 'script = ./kids --all' 'timeout = 60' 'max-lines = 5' 'max-bytes = 2000' >>.pointsman/pointsman.conf
# kids COMMANDS: the script from now on.
$ printf '%s\n' 'printf "#!/bin/sh\n%s\n" "$1" >.pointsman/new; chmod +x .pointsman/new; mv .pointsman/new .pointsman/kids' >kids
$ sh kids 'echo "# $1"; echo "${2}a tag=x"; echo; echo "${2}b disabled"'
$ pointsman nodes refresh
| hosts: 2 nodes, 2 added, 0 changed, 0 removed
| shards: 4 nodes, 4 added, 0 changed, 0 removed
$ pointsman nodes --level shard | sed 's/ *$//'
| NODE  LEVEL  BELOW  STATE     SOURCE  TAGS
| h1a   shard  h1               shards  x
| h1b   shard  h1     disabled  shards
| h2a   shard  h2               shards  x
| h2b   shard  h2     disabled  shards
# It runs in the base, and nothing of its standard error becomes a node.
$ sh kids 'echo "$2-$(basename "$PWD" | tr -d .)"; echo warning >&2'
$ pointsman nodes refresh shards
| shards: 2 nodes, 2 added, 0 changed, 4 removed
! warning
! warning
$ pointsman nodes --level shard --json | grep -o 'name":"[^"]*'
| name":"h1-pointsman
| name":"h2-pointsman
# Whatever else it does, its source keeps what it had.
$ sh kids '[ $2 = h1 ] && echo x; exit 3'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': exit status 3
= 65
$ sh kids 'kill -9 $$'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': was killed
= 65
$ sh kids 'seq 1000'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': printed too much
= 65
$ sh kids 'seq 6'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': printed more than 5 lines (max-lines)
= 65
$ sh kids 'printf "a\\0b\n"'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': ./kids:1: it is not printable text
= 65
$ sh kids 'printf "\\033[31mred\n"'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': ./kids:1: it is not printable text
= 65
$ sh kids 'printf "%0256d\n" 7'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': ./kids:1: a name has 1 to 255 bytes
= 65
$ sh kids 'echo x below=h1'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': ./kids:1: node 'x': the script was run for one parent, so it cannot say below=
= 65
$ sh kids 'echo h2'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': ./kids:1: node 'h2' is on level 'host' already, from source 'hosts'
= 65
$ rm .pointsman/kids; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': cannot start './kids': No such file or directory
= 65
$ pointsman nodes --level host | sed 's/ *$//'
| NODE  LEVEL  BELOW  STATE  SOURCE  TAGS
| h1    host                 hosts
| h2    host                 hosts
! pointsman: source 'shards' fails, its 2 nodes are those that it had before: script './kids' for 'h1': cannot start './kids': No such file or directory
$ pointsman doctor 2>/dev/null | grep 'nodes  '
| warn nodes          source 'shards' fails: script './kids' for 'h1': cannot start './kids': No such file or directory; its nodes are those that it had before
# A script that hangs is killed with all that it started.
$ sed -i 's/^timeout = 60/timeout = 1/' .pointsman/pointsman.conf
$ sh kids 'sleep 1000 & echo $! >>pids; sleep 1000'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': hung
= 65
$ sed -i 's/^timeout = 1/timeout = 60/' .pointsman/pointsman.conf
$ sh kids 'echo ${2}c'; pointsman nodes refresh shards
| shards: 2 nodes, 2 added, 0 changed, 2 removed
$ pointsman doctor 2>/dev/null | grep 'nodes  '
| ok   nodes          2 sources; none fails
# The same in a server, whose supervisor starts it.
& pointsman serve --listen off 2>log until .pointsman/ctrl/sock
$ sh kids 'echo first >&2; echo why >&2; exit 7'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': exit status 7: why
= 65
$ rm .pointsman/kids; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 2 nodes: script './kids' for 'h1': cannot execute './kids': no such program
= 65
$ grep -c 'no such program' log
| 1
# It is tried again after `retry`.
$ sh kids 'echo ${2}d; echo warning >&2'; until pointsman nodes --json | grep -q h2d; do :; done
$ grep -c "source 'shards' has 2 nodes again" log
| 1
$ pointsman nodes --level shard --json | wc -l
| 2
# An output that does not fit into memory is a file.
$ sh kids 'i=0; while [ $i -lt 300 ]; do echo $2-$i-000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000; echo error >&2; i=$((i+1)); done'
$ sed -i 's/^max-lines.*/max-lines = 300/; s/^max-bytes.*/max-bytes = 1M/' .pointsman/pointsman.conf; kill -HUP $(cat .pointsman/ctrl/serve.pid); until pointsman nodes --json | grep -q h2-299; do :; done
$ pointsman nodes --level shard --json | wc -l
| 600
$ ls .pointsman/tmp | wc -l
| 0
# A script that hangs, or prints without end, is ended by the supervisor.
$ sed -i 's/^timeout = 60/timeout = 1/; s/^max-lines.*/max-lines = 3/; s/^max-bytes.*/max-bytes = 2000/' .pointsman/pointsman.conf; kill -HUP $(cat .pointsman/ctrl/serve.pid); until pointsman nodes sources | grep -q -e max-lines -e 'too much'; do :; done
$ sh kids 'sleep 1000 & echo $! >>pids; sleep 1000'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 600 nodes: script './kids' for 'h1': hung
= 65
$ for pid in $(cat .pointsman/pids); do while kill -0 $pid 2>/dev/null && ! grep -q '^State:.Z' /proc/$pid/status; do :; done; done
$ sh kids 'yes'; pointsman nodes refresh shards
! pointsman: source 'shards' keeps its 600 nodes: script './kids' for 'h1': printed too much
= 65
$ sh kids 'echo ${2}e'
# Mistakes in the configuration.
$ sed -i 's/^parents = host/parents = rack/' .pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: parents: there is no level 'rack'
