# Standing jobs are defined, changed and deleted; none of them runs here.
$ pointsman -q init
$ printf '%s\n' '[nodes]' 'levels = host, shard' '[resource "connection"]' 'level = host' 'limit = 2' 'nodes = db1=4' '[resource "ram"]' 'level = worker' 'limit = 64' >>.pointsman/pointsman.conf
$ printf '%s\n' '[worker-limits "big"]' 'limits = ram=256, slot=16' '[account "ann"]' 'weight = 3' '[node-source "h"]' 'level = host' 'node = h1, h2' >>.pointsman/pointsman.conf
$ pointsman -q config check >/dev/null
$ pointsman -q nodes refresh >/dev/null
$ pointsman job list
$ pointsman job add --check copy level=host -- ./copy
| copy: fine
$ pointsman job add copy level=host resources.connection=2 filters.host.whitelist-regex='^h' backoff=15,1m,repeat env.A=b priority=2.5 clean=yes -- ./copy {} 'a b'
| copy: added, version 1, job ...
$ pointsman job show copy | grep -v '^dir\|^umask\|^owner\|^copy\|^job'
| priority=2.5
| level=host
| resources.connection=2
| filters.host.whitelist_regex=^h
| backoff=15,60,repeat
| command -- ./copy '{}' 'a b'
| env.A=b
| clean=true
# Everything that is wrong is said at once, here by the command line,
$ pointsman job add 'bad!' levle=host resources.foo=-1 filters.host.whitelist_regex='(' backoff=60,15 priority=0 fraction -- x
! pointsman: unknown key 'levle', did you mean 'level'?
! pointsman: resources.foo: '-1' is not a number from 0 to 2^53
! pointsman: filters.host.whitelist_regex: '(' is not a regular expression: a '(' without its ')' at character 2
! pointsman: backoff: not a list in which each wait is longer than the one before
! pointsman: priority: '0' is not a number from 0.001 to 1000000
! pointsman: 'fraction' is not KEY=VALUE; a command stands behind --
! pointsman: 'bad!' is not the name of a job: a letter or digit, then letters, digits, '.', '_' and '-', 64 at most
= 65
# and here by the server, which knows the configuration.
$ pointsman job add bad level=rack resources.foo=1 filters.rack.tags=a -- x
! pointsman: job 'bad': level: there is no level 'rack'; [nodes] lists the levels
! pointsman: job 'bad': resources: there is no resource 'foo'; a section [resource "foo"] would define it
! pointsman: job 'bad': filters: there is no level 'rack'; [nodes] lists the levels
= 65
$ pointsman job add bad level=shard depends_on=copy,nix -- x
! pointsman: job 'bad': depends_on: there is no standing job 'nix'
! pointsman: job 'bad': depends_on: the tasks of 'copy' are on level 'host', not 'shard'
= 65
$ pointsman job add copy level=host -- x
! pointsman: standing job 'copy' exists already; `pointsman job set` changes it
= 100
# A job may wait for another one, but not for itself.
$ pointsman -q job add next level=host depends_on=copy -- ./next
$ pointsman -q job add last level=host after_all_nodes_of=next -- ./last
$ pointsman job set copy depends_on=last
! pointsman: job 'copy': 'copy' waits for 'last' waits for 'next' waits for 'copy'
= 65
$ pointsman job delete copy
! pointsman: standing job 'copy' is needed by next
= 100
# Each edit makes a version, and none overwrites what it has not seen.
$ pointsman job show copy --json >mine
$ pointsman job set copy priority=3
| copy: changed, version 2, job ...
$ pointsman job set copy priority=3
| copy: unchanged, version 2, job ...
$ pointsman job set copy --file mine
! pointsman: standing job 'copy' is at version 2 by uid:..., not 1; look at `pointsman job show copy`, then repeat the change
= 100
$ pointsman job set --if-version 1 copy enabled=no
! ...
= 100
$ pointsman job set --if-version 2 --file mine copy max_running=5
| copy: changed, version 3, job ...
$ pointsman job show copy --version 2 | grep priority
| priority=3
$ pointsman job show copy | grep 'priority\|max_running'
| priority=2.5
| max_running=5
$ pointsman job set copy level=shard
! pointsman: job 'copy': level: its tasks stay on their level; delete the job and add it again
= 65
$ pointsman job set copy max_running= -- ./copy2
| copy: changed, version 4, job ...
$ pointsman job show copy | grep 'command\|max_running'
| command -- ./copy2
# A disabled job is held.
$ pointsman job disable copy
$ pointsman job disable copy
$ pointsman job list | sed 's/ [^ ]* *j[^ ]*$//; s/ *$//'
| NAME  STATE     VERSION  LEVEL  OWNER  ID
| copy  disabled  5        host
| last  pending   1        host
| next  pending   1        host
$ id=$(pointsman job list --json | sed -n 's/.*"copy","id":"\([^"]*\)".*/\1/p'); pointsman why $id | grep version
| ...: version 5 of its definition, by uid:..., disables it; pointsman job enable copy lets it run
$ pointsman cancel $(pointsman job list --json | sed -n 's/.*"copy","id":"\([^"]*\)".*/\1/p')
! pointsman: job '...' is a standing job; pointsman job disable copy stops it for a while, and pointsman job delete copy for good
= 100
$ pointsman job enable copy nix
! pointsman: no standing job 'nix'
= 66
$ pointsman job forgive copy h1
$ pointsman job forgive copy h9
! pointsman: no node 'h9'
= 66
$ pointsman job delete last next copy
$ pointsman job list
$ pointsman job show copy
! pointsman: no standing job 'copy'
= 66
$ pointsman events --json | sed -n 's/.*"standing".*"reason":"\([a-z]*\)","detail":"\([^"]*\)".*"version":"\([0-9]*\)".*/\1 \2 \3/p'
| added copy 1
| added next 1
| added last 1
| changed copy 2
| changed copy 3
| changed copy 4
| disabled copy 5
| enabled copy 6
| forgiven copy h1 6
| deleted last 2
| deleted next 2
| deleted copy 7
# Limits are checked with the configuration.
$ printf '%s\n' '[resource "x"]' 'level = rack' 'limit = 1' >>.pointsman/pointsman.conf
$ pointsman config check
! pointsman: ...: resource 'x': there is no level 'rack'; [nodes] lists the levels
= 78
$ printf '%s\n' '[account "ann"]' 'limit = 99999999' '[resource "ram"]' 'level = worker' 'limit = -1' 'weigth = 1' >>.pointsman/pointsman.conf
$ pointsman config check
! pointsman: pointsman.conf:...: account 'ann' is defined twice; the first is at pointsman.conf:...
! pointsman: pointsman.conf:...: limit = '99999999' is out of range, 0 to 1000000
! pointsman: pointsman.conf:...: resource 'ram' is defined twice; the first is at pointsman.conf:...
! pointsman: pointsman.conf:...: limit = '-1' is out of range, 0 to 9007199254740992
! pointsman: pointsman.conf:...: unknown key 'weigth', did you mean 'weight'?
! pointsman: pointsman.conf:...: resource 'x': there is no level 'rack'; [nodes] lists the levels
= 78
