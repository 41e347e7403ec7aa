# Settings override the file at once, also while a server runs.
$ pointsman -q init
$ pointsman set queue.concurrency 1
$ pointsman settings | head -1
| queue.concurrency      1            set ...
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman submit --id s1 -- sleep 100
| s1
$ until pointsman status s1 | grep -q executing; do :; done
$ pointsman submit --id s2 -- true
| s2
$ pointsman why s2
| s2: slot: all 1 are busy (1 running); see [queue] concurrency
$ pointsman set queue.concurrency 2
$ pointsman wait s2
$ pointsman cancel s1
$ pointsman wait s1
! s1: operator..., exit code <n>
= 143
$ pointsman settings --json | head -1
| {"name":"queue.concurrency","value":"2","from":"set","meaning":"..."}
$ pointsman config check
| ...
! configuration OK
$ pointsman doctor | grep -c registry
| 1
# Each line has one of three tags in the same column.
$ pointsman doctor >lines; grep -cvE '^(ok  |warn|off ) [a-z0-9-]+ +[^ ]' lines || :
| 0
# The listings of the configuration show the value in force.
$ pointsman config show | grep '^concurrency'
| concurrency = 2                           set
$ pointsman config check 2>/dev/null | grep '^concurrency'
| concurrency = 2                           set
$ pointsman config show --json | grep '"concurrency"'
| {"section":"queue","label":null,"key":"concurrency","value":"2","file":"set","line":0}
