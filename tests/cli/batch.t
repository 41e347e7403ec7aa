# A batch prints one line for each input line, in the same order.
$ pointsman -q init
$ printf '%s\n' '{"id":"b1","command":["true"]}' 'nonsense' '{"id":"b2","command":["true"],"after":["b1"]}' '{"id":"b1","command":["true"]}' '{"id":"b3","comand":["x"]}' | pointsman submit --batch
| b1
| error: bad JSON at byte 0: expected a value
| b2
| b1
| error: unknown key 'comand', did you mean 'command'?
! pointsman: 2 of 5 lines were rejected: see the errors above
= 65
# Options for a single job are refused, not ignored.
$ echo '{"command":["true"]}' | pointsman submit --batch --hold
! pointsman: --hold cannot be used with --batch: write it into the lines
= 64
$ echo '{"id":"","command":["true"]}' | pointsman submit --batch
| error: '' is not an id (...
! pointsman: 1 of 1 lines were rejected: see the errors above
= 65
$ echo '{"command":["true"],"node":"elsewhere"}' | pointsman submit --batch
| error: no node 'elsewhere': this base has only 'local'
! pointsman: 1 of 1 lines were rejected: see the errors above
= 65
$ printf '' | pointsman submit --batch
$ printf '{"id":"b4","command":["true"],"node":"local"}' | pointsman submit --batch
| b4
$ pointsman daemon all --until-idle
$ pointsman list --json state:done | wc -l
| 3
# Bulk commands first print the number of jobs.
$ for i in 1 2 3; do pointsman submit --hold --id h$i -- false; done
| h1
| h2
| h3
$ pointsman release --match held:yes
| 3
! 3 jobs match; nothing was done, repeat with --yes
$ pointsman release --match held:yes --yes
| 3
$ pointsman daemon all --until-idle
$ pointsman retry --match state:failed --yes
| 3
$ pointsman cancel --match 'id:h*' --yes
| 3
$ pointsman wait h1 h2 h3
! h1: operator, exit code 143
! h2: operator, exit code 143
! h3: operator, exit code 143
= 143
# An intact registry is not rebuilt if data that only it holds would be lost.
$ pointsman fsck --rebuild
! pointsman: cannot rebuild the registry: '.../ctrl/registry.db' is intact and holds commands, settings or schedules that exist nowhere else; back it up and move it away first
= 100
$ pointsman list b1 | wc -l
| 2
$ rm .pointsman/ctrl/registry.db*; pointsman fsck --rebuild
! 0 change sets, 0 events in their logs, 0 problems
$ pointsman fsck --rebuild
! 0 change sets, 0 events in their logs, 0 problems
$ pointsman set queue.grace 5; pointsman fsck --rebuild
! pointsman: cannot rebuild the registry: ...
= 100
