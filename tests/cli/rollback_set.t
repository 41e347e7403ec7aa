# Rollbacks that conflict with other sets, and rollbacks of other kinds of jobs.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && seq 5 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ printf '#!/bin/sh\n# make ID FILE TEXT [OPTION]...\ncd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && echo "$3" >$2 && git add $2 && git commit -qm "Change $2" && cd .. && id=$1 && shift 3 && pointsman -q change pack --target main --submit --id $id "$@" -C work main~1..main\n' >make
$ sh make C1 a one && pointsman daemon all --until-idle
| C1
$ sh make C2 b two --depends C1 && pointsman daemon all --until-idle
| C2
$ sh make C9 a nine && pointsman daemon all --until-idle
| C9
$ sh make C3 c three --depends C1 && pointsman hold C3 && pointsman daemon all --until-idle
| C3
# A later set changed the same file: the error names it, and nothing changes.
$ git -C project.git rev-parse main >before
$ pointsman rollback --preview C1
| C1  done, is reverted
|   C2  done, is reverted
|   C3  queued, is abandoned
| 2 reverted, 1 abandoned, 0 stopped, 2 files
| the reverse merges fail: rb-conflict: C1 cannot be rolled back: a was also changed by C9 (done); add C9 to the rollback or revert by hand
= 1
$ pointsman rollback --preview --json C1 | tail -1
| {"merges":"rb-conflict","detail":"C1 cannot be rolled back: a was also changed by C9 (done); add C9 to the rollback or revert by hand"}
$ pointsman rollback --preview --json C1 >json
= 1
$ pointsman rollback --preview --json C2 | tail -1
| {"merges":"clean","detail":""}
$ pointsman -q rollback C1
| <R1>
$ pointsman daemon all --until-idle
$ pointsman wait <R1>
! <R1>: rb-conflict: C1 cannot be rolled back: a was also changed by C9 (done); add C9 to the rollback or revert by hand
= 1
$ git -C project.git rev-parse main | diff - before
$ pointsman list --all id:C1,C2,C3,C9
| ID ...
| C1 ... done ...
| C2 ... done ...
| C9 ... done ...
| C3 ... queued, held ... rb-undone ...
# The restored set continues.
$ pointsman release C3 && pointsman daemon all --until-idle && pointsman wait C3
$ pointsman status C3 | grep ^state
| state       done ...
# With deps+files, later sets that changed the same files are included.
$ pointsman rollback --preview --closure deps+files C1
| C1  done, is reverted
|   C2  done, is reverted
|   C3  done, is reverted
|   C9  done, is reverted (same file)
| 4 reverted, 0 abandoned, 0 stopped, 3 files
| the reverse merges are clean
$ pointsman -q rollback --closure deps+files C1
| <R2>
$ pointsman daemon all --until-idle && pointsman wait <R2>
$ git -C project.git ls-tree --name-only main
| a
$ git -C project.git show main:a
| 1
| 2
| 3
| 4
| 5
# A rollback of the rollback restores all sets; a rollback of that removes them.
$ pointsman -q rollback <R2>
| <R3>
$ pointsman daemon all --until-idle && pointsman wait <R3>
$ git -C project.git show main:a
| nine
$ sh make C4 d four --depends C2 && pointsman daemon all --until-idle && pointsman wait C4
| C4
# Sets that were built on them meanwhile are included.
$ pointsman rollback --preview <R3>
| <R3>  done, is reverted
|   C3  done, is reverted
|   C9  done, is reverted
|   C2  done, is reverted
|     C4  done, is reverted
|   C1  done, is reverted
|   <R2>  done, is restored
| 6 reverted, 0 abandoned, 0 stopped, 1 restored, 4 files
| the reverse merges are clean
$ pointsman -q rollback <R3>
| <R4>
$ pointsman daemon all --until-idle && pointsman wait <R4>
$ git -C project.git ls-tree --name-only main
| a
$ pointsman list --all id:C1,C2,C3,C4,C9
| ID ...
| C1 ... rolled back ...
| C2 ... rolled back ...
| C9 ... rolled back ...
| C3 ... rolled back ...
| C4 ... rolled back ...
$ pointsman fsck
! 9 change sets, ... events in their logs, 0 problems
# Invalid arguments.
$ pointsman rollback C77 C1
! pointsman: no job 'C77'...
= 66
$ pointsman rollback C1 C2
| <R5>
! rollback <R5> is queued: nothing to roll back: 'C1' is already rolled back by '...', 'C2' is already rolled back by '...'
$ pointsman rollback --preview --json C1 C2 | head -1 | jq -r .verdict
| rb-nothing
$ pointsman -q submit --id cmd -- true
| cmd
$ pointsman rollback cmd
! pointsman: rb-target: 'cmd' is a command: only change sets can be rolled back
= 100
$ pointsman rollback
! ...
= 64
$ pointsman rollback --closure all C1
! pointsman: '--closure' is deps or deps+files, not 'all'
= 64
# D2 removed the text of D1: a rollback of D1 finds nothing, and says so.
$ sh make D1 d first && pointsman daemon all --until-idle
| D1
$ sh make D2 d second && pointsman daemon all --until-idle
| D2
$ git -C project.git show main:d
| second
$ sh make D3 e first && pointsman daemon all --until-idle
| D3
$ sed -i 's/echo .*; *git add/true; git add/; s/echo "$3" >$2 && git add $2/git rm -q $2/' make && sh make D4 e - && pointsman daemon all --until-idle
| D4
$ pointsman rollback --preview D3
| D3  done, is reverted
| 1 reverted, 0 abandoned, 0 stopped, 1 file
| the reverse merges are clean; nothing of D3 is left to revert: D4 removed it; to undo that too, roll back D4
$ pointsman rollback --preview --json D3 | tail -1
| {"merges":"clean","detail":"nothing of D3 is left to revert: D4 removed it; to undo that too, roll back D4"}
$ pointsman -q rollback D3
| <R9>
$ pointsman daemon all --until-idle
$ pointsman why <R9>
| ...nothing of D3 is left to revert: D4 removed it; to undo that too, roll back D4
$ pointsman status <R9> | grep -c '^reason *rb-empty: '
| 1
$ pointsman report --json --by target | tail -1 | jq -c '[.rollbacks,.rollbacks_empty]'
| [4,1]
$ pointsman history <R9> | grep -c 'nothing of D3 is left to revert: D4 removed it'
| 1
# Rolling D4 back as well does not bring the file of D3 back.
$ pointsman -q rollback D4
| <R10>
$ pointsman daemon all --until-idle && pointsman wait <R10>
$ git -C project.git ls-tree --name-only main e
# --limit raises the limit of files too, by 100 for each set.
$ (cd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && mkdir many && cd many && seq 5001 | split -l 1 -a 4 && git add . && git commit -qm many) && pointsman -q change pack --target main --submit --id BIG -C work main~1..main && pointsman daemon all --until-idle
| BIG
$ pointsman rollback --preview BIG
| BIG  done, is reverted
| 1 reverted, 0 abandoned, 0 stopped, 5001 files
! pointsman: rb-too-large: 1 set with 5001 files would be rolled back; the limits are 50 sets and 5000 files (--limit): BIG
= 100
$ pointsman rollback --preview --limit 51 BIG
| BIG  done, is reverted
| 1 reverted, 0 abandoned, 0 stopped, 5001 files
| the reverse merges are clean
