# A configuration of Bistro becomes sections and standing jobs.
$ pointsman -q init
$ printf '%s\n' '{"bistro_settings": {"enabled": true, "working_wait": 0.5, "scheduler": "ranked_priority", "remote_worker_selector": "busiest", "backoff": [15, 60, "repeat"], "level_for_tasks": "db", "kill_orphan_tasks_after_sec": 2.5,' '"nodes": {"levels": ["host", "db"], "node_order": "original", "node_sources": [{"source": "manual", "prefs": {"h1": ["a", "b"], "h2": {"children": ["b", "c"], "disabled": true}, "h3": []}},' '{"source": "range_label", "prefs": {"parent_level": "host", "start": 0, "end": 1, "format": "{parent}:{i}"}}, {"source": "empty"}]},' '"resources": {"host": {"conn": {"default": 1, "limit": 2}}, "worker": {"ram": {"default": 2, "limit": 64, "weight": 3}}}, "worker_resources_override": {"big:7777": {"ram": 256}},' '"task_subprocess": {"process_group_leader": true, "parent_death_signal": 9}, "kill_subprocess": {"method": "term_wait_kill", "kill_wait_ms": 1500}},' >bistro.json
$ printf '%s\n' '"bistro_job->one": {"owner": "ann", "command": ["/bin/one"], "priority": 2.5, "filters": {"host": {"tag_whitelist": ["x"], "fraction_of_nodes": 0.5}}, "config": {}, "version_id": 3},' '"bistro_job->two": {"owner": "bob", "enabled": false, "command": ["/bin/two"], "depends_on": ["one"], "kill_subprocess": {"method": "term"}, "kill_orphan_tasks_after_sec": false, "level_for_host_placement": "host", "resources": {"conn": 2}}}' >>bistro.json
# The jobs need the sections; without them none is added.
$ pointsman job import bistro.json
! pointsman: job 'one': level: there is no level 'db'; [nodes] lists the levels
! pointsman: job 'one': filters: there is no level 'host'; [nodes] lists the levels
! pointsman: job 'two': level: there is no level 'db'; [nodes] lists the levels
! pointsman: job 'two': resources: there is no resource 'conn'; a section [resource "conn"] would define it
= 65
$ pointsman job import --sections bistro.json
| # bistro_settings.working_wait has no counterpart
| [nodes]
| levels = host, db
| policy = ranked_priority
| worker-selector = busiest
| backoff = 15, 60, repeat
| kill-orphans-after = 3
| order = original
| 
| [resource "conn"]
| level = host
| default = 1
| limit = 2
| 
| [resource "ram"]
| level = worker
| default = 2
| limit = 64
| weight = 3
| 
| [worker-limits "big"]
| limits = ram=256
| 
| [node-source "manual0-host"]
| level = host
| node = "h1"
| node = "h2 disabled"
| node = "h3"
| 
| [node-source "manual0-db"]
| level = db
| node = "a below=h1"
| node = "b below=h1"
| node = "b below=h2"
| node = "c below=h2"
| 
| [node-source "range1-db"]
| level = db
| range = 0-1
| parents = host
| format = {parent}:{i}
$ pointsman job import --sections bistro.json >>.pointsman/pointsman.conf
$ pointsman -q config check >/dev/null
$ pointsman nodes refresh
| manual0-host: 3 nodes, 3 added, 0 changed, 0 removed
| manual0-db: 4 nodes, 4 added, 0 changed, 0 removed
| range1-db: 6 nodes, 6 added, 0 changed, 0 removed
$ pointsman job import bistro.json
| one: added, version 1, job ...
| two: added, version 1, job ...
$ pointsman job show one | tail -n +3
| owner=ann
| priority=2.5
| level=db
| filters.host.tags=x
| filters.host.fraction=0.5
| command -- /bin/one
| kill_method=term-wait-kill
| kill_wait=1500ms
| parent_death_signal=KILL
| process_group_leader=yes
| argv_style=bistro
$ pointsman job show two | tail -n +3
| enabled=false
| owner=bob
| level=db
| resources.conn=2
| depends_on=one
| host_level=host
| kill_orphans_after=never
| command -- /bin/two
| kill_method=term
| parent_death_signal=KILL
| process_group_leader=yes
| argv_style=bistro
# If one of them is there already, none is added.
$ pointsman job delete two
$ pointsman job import bistro.json
! pointsman: standing job 'one' exists already; `pointsman job set` changes it
= 100
$ pointsman job list --json | wc -l
| 1
# What cannot be converted is named, all of it.
$ printf '%s\n' '{"bistro_settings": {"scheduler": "fifo", "nodes": {"levels": ["host"], "node_sources": [{"source": "manual", "prefs": {"a": ["b"], "b": "a"}}, {"source": "script", "prefs": {}}, {"source": "range_label", "prefs": {"parent_level": "host"}}]},' '"resources": {"host": {"conn": {"default": 1, "limt": 2}}}, "foo": 1},' '"bistro_job->one": {"command": [], "config": {"a": 1}, "filters": {"host": {"tagwhitelist": []}}, "priorty": 1}, "bistro_job->a b": 3, "x": 1}' >wrong.json
$ pointsman job import --sections wrong.json
! pointsman: bistro_settings.scheduler: 'fifo' is not known
! pointsman: unknown key 'bistro_settings.foo'
! pointsman: node_sources[0]: nodes are below each other in a ring, or below the last level
! pointsman: node_sources[1]: a source 'script' has no counterpart in this version
! pointsman: node_sources[2].prefs.parent_level: 'host' is no level above another one
! pointsman: bistro_settings.resources.host.conn: unknown key 'limt'
! pointsman: job 'one': config: it has no counterpart; give its values to the command as arguments
! pointsman: job 'one': unknown key 'priorty'
! pointsman: job 'one': filters: unknown key 'tagwhitelist'
! pointsman: job 'one': a command is missing
! pointsman: job 'a b': the job: an object is expected
! pointsman: unknown key 'x'
= 65
$ sed 's/"limit": 2}/"limit": -2}/; s/60, "repeat"/5, "repeat"/' bistro.json | pointsman job import --sections -
! pointsman: the sections:13: limit = '-2' is out of range, 0 to 9007199254740992
! pointsman: the sections:6: backoff is not a list in which each wait is longer than the one before
= 65
