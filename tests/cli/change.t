# A change set from a git range to the branch.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ cd work && echo 2 >a && echo new >b && git add . && git commit -qm 'Change a, add b'
$ pointsman change pack --target main --id C1 --class BF -C work main~1..main -o c1.tar
| c1.tar
! set C1: 2 files, 0 deleted
$ pointsman change submit c1.tar
| C1
$ pointsman change submit c1.tar
| C1
! 'C1' was submitted before; queued (admitted) since <time>
$ pointsman daemon all --until-idle
$ pointsman wait C1
$ git -C project.git log -1 --format=%s%n%b | grep -v ^$
| Change a, add b
| CS-Id: C1
| CS-Sum: <sum>
| CS-Class: BF
$ pointsman file b | tail -1
| C1 ...
$ pointsman file ./nowhere/..//b | tail -1
| C1 ...
$ pointsman list kind:change | tail -1
| C1  change  BF     done   <age> ... main    ok      Change a, add b
$ pointsman retry C1
! pointsman: job 'C1' is a change set, which cannot be retried; pack a new one with `change pack --supersedes C1`
= 100
$ pointsman change submit c1.tar
| C1
! 'C1' was submitted before; done (ok) since <time>
$ pointsman change pack --target main --submit --id C2 -C work main~1..main
| C2
! set C2: 2 files, 0 deleted
$ pointsman change pack --target main -C work main~1..main -o .
| <FILE>
! set <id>: 2 files, 0 deleted
$ pointsman change put <FILE>
| ...
$ pointsman daemon all --until-idle
$ pointsman list --json kind:change | wc -l
| 3
$ pointsman change pack --target nosuch --submit -C work main~1..main
! pointsman: ...
= 100
$ pointsman change pack --target main -C work nosuch..main
! pointsman: ...
= 64
$ pointsman fsck
! 3 change sets, ... events in their logs, 0 problems
# What is said of a set that was rolled back.
$ pointsman -q rollback C1 && pointsman daemon all --until-idle
| <RB>
$ pointsman why C1
| C1: done since <time>: ok: <sum>; rolled back by <RB>
$ pointsman change submit c1.tar
| C1
! 'C1' was submitted before; done (ok) since <time>, rolled back by <RB>
$ mkdir d && echo a >d/a && pointsman change pack --class RB --target main d
! pointsman: cannot pack: a set of class RB is made by pointsman rollback; pack takes EM, BF or DC
= 64
$ pointsman change pack --group g:x --target main d
! pointsman: cannot pack: '--group' is NAME or NAME:COUNT, and COUNT a number, not 'g:x'
= 64
