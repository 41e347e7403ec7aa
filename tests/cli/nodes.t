# Nodes come from sections of the configuration.
$ pointsman -q init
$ pointsman nodes
$ pointsman nodes sources
$ pointsman nodes refresh
$ printf '%s\n' '[nodes]' 'levels = host, shard' '[node-source "hosts"]' 'level = host' 'node = h1 tag=ssd, h2 tag=disk tag=old disabled' 'node = h3' >>.pointsman/pointsman.conf
$ printf '%s\n' '[node-source "shards"]' 'level = shard' 'range = 0-1' 'parents = host' '[node-source "more"]' 'level = shard' 'file = more.nodes' >>.pointsman/pointsman.conf
$ printf '# more\n\n  x below=h1 tag=a\nh1__0 below=h3\n' >.pointsman/more.nodes
$ pointsman nodes refresh
| hosts: 3 nodes, 3 added, 0 changed, 0 removed
| shards: 6 nodes, 6 added, 0 changed, 0 removed
| more: 2 nodes, 2 added, 0 changed, 0 removed
# h1__0 is a replica: it has two places.
$ pointsman nodes | sed 's/ *$//'
| NODE   LEVEL  BELOW  STATE     SOURCE  TAGS
| h1     host                    hosts   ssd
| h2     host          disabled  hosts   disk old
| h3     host                    hosts
| h1__0  shard  h1               shards
| h1__1  shard  h1               shards
| h2__0  shard  h2               shards
| h2__1  shard  h2               shards
| h3__0  shard  h3               shards
| h3__1  shard  h3               shards
| x      shard  h1               more    a
| h1__0  shard  h3               more
$ pointsman nodes --below h3 --source more --json
| {"name":"h1__0","level":"shard","parent":"h3","enabled":true,"tags":[],"source":"more","seq":6}
$ pointsman nodes --level host --json | tail -1
| {"name":"h3","level":"host","enabled":true,"tags":[],"source":"hosts","seq":4}
# A second refresh finds nothing new, and says nothing in the history.
$ pointsman nodes refresh hosts
| hosts: 3 nodes, 0 added, 0 changed, 0 removed
$ pointsman events | grep -c 'nodes changed'
| 3
# A source that fails keeps what it had; the error is told once.
$ echo 'y below=h9' >.pointsman/more.nodes
$ pointsman nodes refresh more
! pointsman: source 'more' keeps its 2 nodes: .../more.nodes:1: node 'y': there is no node 'h9' for it to be below
= 65
$ pointsman nodes refresh more
! ...
= 65
$ pointsman nodes --source more --json | wc -l
| 2
$ pointsman nodes sources --json | sed -n 2p
| {"name":"more","nodes":2,"refreshed":"...","failed":"...","error":".../more.nodes:1: node 'y': there is no node 'h9' for it to be below"}
$ rm .pointsman/more.nodes
$ pointsman nodes refresh more
! pointsman: source 'more' keeps its 2 nodes: cannot open '.../more.nodes': No such file or directory
= 65
$ pointsman events | grep -c 'nodes failed'
| 2
# It recovers; what it no longer names goes.
$ echo 'x below=h1 tag=b' >.pointsman/more.nodes
$ pointsman nodes refresh more
| more: 1 nodes, 0 added, 1 changed, 1 removed
$ pointsman nodes sources | sed 's/20[^ ]*Z/TIME/; s/ *$//'
| SOURCE  NODES  REFRESHED                 ERROR
| hosts   3      TIME
| more    1      TIME
| shards  6      TIME
$ pointsman nodes refresh nosuch
! pointsman: there is no section [node-source "nosuch"]
= 66
# A host that goes takes along what was below it.
$ sed -i 's/^node = h3$/node = h4/' .pointsman/pointsman.conf
$ pointsman nodes refresh
| hosts: 3 nodes, 1 added, 0 changed, 1 removed
| shards: 6 nodes, 2 added, 0 changed, 2 removed
| more: 1 nodes, 0 added, 0 changed, 0 removed
# A source that is removed from the configuration is forgotten.
$ sed -i '/source "more"/,$d' .pointsman/pointsman.conf
$ pointsman nodes refresh
| hosts: 3 nodes, 0 added, 0 changed, 0 removed
| shards: 6 nodes, 0 added, 0 changed, 0 removed
$ pointsman nodes sources --json | grep -c more
| 0
= 1
$ pointsman nodes --level shard --json | grep -c '"x"'
| 0
= 1
# Mistakes in the configuration.
$ cp .pointsman/pointsman.conf good
$ (cat good; printf '[node-source "a"]\nlevel = rack\n') >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: node-source 'a': there is no level 'rack'; [nodes] lists the levels
$ (cat good; printf '[node-source "a"]\nlevel = host\nrange = 5-4\n') >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: range '5-4': two numbers, the smaller one first, such as 0-24
$ (cat good; printf '[node-source "a"]\nlevel = host\nrange = 0-4\nparents = shard\n') >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: parents: level 'shard' is not above level 'host'
$ (cat good; printf '[node-source "a"]\nlevel = host\nrange = 0-4\nfile = x\n') >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: node-source 'a' has more than one of 'node', 'file', 'range' and 'script'
$ (cat good; printf '[node-source "a"]\nlevel = host\nnode = h5 above=h1\n') >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: node 'h5 above=h1': 'above=': only below= and tag= are known
$ sed 's/^levels.*/levels = host, host/' good >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: level 'host' is there twice
! pointsman: ...: node-source 'shards': there is no level 'shard'; [nodes] lists the levels
$ sed 's/^levels.*/levels = host, instance/' good >.pointsman/pointsman.conf; pointsman config check | tail -1
! pointsman: ...: level 'instance': this level is there already, above all others
! pointsman: ...: node-source 'shards': there is no level 'shard'; [nodes] lists the levels
$ sed 's/^levels/max-nodes = 2\nlevels/' good >.pointsman/pointsman.conf; pointsman nodes refresh
! pointsman: source 'hosts' keeps its 3 nodes: there are more than 2 nodes (max-nodes)
! pointsman: source 'shards' keeps its 6 nodes: there are more than 2 nodes (max-nodes)
= 65
# Thousands of nodes are recorded in several steps, also by a server.
$ printf '[nodes]\nlevels = cell\n[node-source "cells"]\nlevel = cell\nrange = 1-5000\nformat = c{i}\n' >.pointsman/pointsman.conf
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman nodes refresh | sed 's/, .*//'
| cells: 5000 nodes
$ pointsman nodes | sed -n '2p;$p' | sed 's/ *$//'
| c1     cell                 cells
| c5000  cell                 cells
$ pointsman nodes --json | wc -l
| 5000
$ pointsman nodes refresh
| cells: 5000 nodes, 0 added, 0 changed, 0 removed
# The server reads the configuration again, and finds nodes by itself.
$ printf '[nodes]\nlevels = cell\nrefresh = 1\n[node-source "cells"]\nlevel = cell\nfile = cells\n' >.pointsman/pointsman.conf; echo a >.pointsman/cells; kill -HUP $(cat .pointsman/ctrl/serve.pid)
$ until [ $(pointsman nodes --json | wc -l) = 1 ]; do :; done; pointsman nodes --json | grep -c '"a"'
| 1
$ echo b >>.pointsman/cells; until pointsman nodes --json | grep -q '"b"'; do :; done
# A source that fails is tried again sooner, and the log says so once.
$ sed -i 's/^refresh = 1/refresh = 1h\nretry = 1/' .pointsman/pointsman.conf; rm .pointsman/cells; kill -HUP $(cat .pointsman/ctrl/serve.pid)
$ until pointsman nodes sources | grep -q 'No such file'; do :; done; pointsman nodes --json | wc -l
| 2
$ echo c >.pointsman/cells; until pointsman nodes --json | grep -q '"c"'; do :; done; pointsman nodes sources | grep -c 'No such file'
| 0
= 1
$ pointsman events | grep -c 'nodes failed'
| 5
$ kill $(cat .pointsman/ctrl/serve.pid); while [ -e .pointsman/ctrl/serve.pid ]; do :; done
# The role alone: what is asked for without a server reaches it.
& pointsman daemon nodes until .pointsman/ctrl/nodes.pid
$ echo d >.pointsman/cells; pointsman nodes refresh | sed 's/, .*//'
| cells: 1 nodes
$ pointsman nodes --json | grep -c '"d"'
| 1
$ pointsman events --json | grep '"changed"' | tail -1 | grep -o daemon:nodes
| daemon:nodes
$ kill $(cat .pointsman/ctrl/nodes.pid)
# Nobody has the role: the command does it.
$ while [ -e .pointsman/ctrl/nodes.pid ]; do :; done
$ echo e >.pointsman/cells; pointsman nodes refresh
| cells: 1 nodes, 1 added, 0 changed, 1 removed
$ pointsman events --json | grep '"changed"' | tail -1 | grep -c daemon:nodes
| 0
= 1
$ echo f >.pointsman/cells; pointsman daemon nodes --once; pointsman nodes --json | grep -c '"f"'
| 1
