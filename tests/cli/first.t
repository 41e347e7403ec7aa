# The first minute: a base, a command, and its result.
$ pointsman init
! created base '.pointsman'; try: pointsman run -- echo hello
$ pointsman list
$ pointsman submit -- echo hello
| <ID>
$ pointsman list
| ID ...
| <ID>  command  DC     pending  <age> ... admitted  echo hello
$ pointsman why @last
| <ID>: no exec role runs here; start `pointsman serve` or `pointsman daemon all --until-idle` (or only this role: `pointsman daemon exec`)
$ pointsman daemon all --until-idle
$ pointsman list state:done
| ID ...
| <ID>  command  DC     done   <age> ... ok      echo hello
$ pointsman logs <ID>
| hello
$ pointsman wait <ID>
$ pointsman why <ID>
| <ID>: done since ...: ok
$ pointsman history <ID>
| <a> <ID> - > pending admitted uid:<n>
| <a> <ID> pending > executing start daemon:scheduler
| <a> <ID> executing > done ok daemon:scheduler (CPU <s> s, memory <m> MiB)
$ pointsman status
| queued      0
| staged      0
| pending     0
| executing   0
| done        1
| failed      0
| terminated  0
| abandoned   0
| held        0
| base        ...
| server      not running
$ pointsman list --json | grep -c '"id":"<ID>","kind":"command","class":"DC","state":"done","since":".*Z","target":null,"reason":"ok","attempt":1'
| 1
$ pointsman fsck
! 0 change sets, 0 events in their logs, 0 problems
$ pointsman history --limit 1 <ID>
| <a> <ID> executing > done ok daemon:scheduler (CPU <s> s, memory <m> MiB)
$ pointsman history --limit 2 | wc -l
| 2
