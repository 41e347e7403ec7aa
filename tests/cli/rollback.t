# Rolling back change sets, with the sets that depend on them.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ printf '#!/bin/sh\ncd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && echo x >$2 && git add $2 && git commit -qm "Add $2" && cd .. && f=$2 && id=$1 && shift 2 && pointsman -q change pack --target main --submit --id $id "$@" -C work main~1..main\n' >make
$ sh make C1 b && pointsman daemon all --until-idle
| C1
$ sh make C2 c --depends C1 && pointsman daemon all --until-idle
| C2
$ sh make C3 d --depends C2 && pointsman hold C3 && pointsman daemon all --until-idle
| C3
# Dependencies at any depth.
$ pointsman dependents C1
| dependency ... C2 ...
$ pointsman dependents --tree C1
| C1  done
|   C2  done
|     C3  queued
$ pointsman depends --tree C3
| C3  queued
|   C2  done
|     C1  done
$ pointsman depends --tree --json C3 | tail -1
| {"id":"C1","depth":2,"of":"C2","state":"D","again":false}
# A preview changes nothing.
$ pointsman rollback --preview C1
| C1  done, is reverted
|   C2  done, is reverted
|     C3  queued, is abandoned
| 2 reverted, 1 abandoned, 0 stopped, 3 files
| the reverse merges are clean
$ pointsman rollback --preview --limit 2 C1 | tail -1
| 2 reverted, 1 abandoned, 0 stopped, 3 files
! pointsman: rb-too-large: 3 sets with 3 files would be rolled back; the limits are 2 sets and 5000 files (--limit): C1 C2 C3
$ pointsman rollback --limit 1 C1
! pointsman: rb-too-large: 3 sets with 3 files would be rolled back; the limits are 1 sets and 5000 files (--limit): C1 C2 C3
= 100
$ pointsman rollback C9
! pointsman: no job 'C9'...
= 66
$ pointsman list --json --all class:RB
# The rollback.
$ pointsman rollback --because 'b is wrong' C1
| <RB>
! rollback <id> is queued: 2 to revert, 1 to abandon, 0 to stop
$ pointsman daemon all --until-idle
$ pointsman wait <RB>
$ git -C project.git log --format=%s main
| Revert "Add b"
| Revert "Add c"
| Add c
| Add b
| one
$ git -C project.git ls-tree --name-only main
| a
$ pointsman list --all
| ID ...
| C1 ... rolled back ...
| C2 ... rolled back ...
| C3 ... abandoned, held ...
| ... done ... b is wrong
$ pointsman history C1 | tail -1
| ... C1 rolled-back rolled-back daemon:scheduler: ...
# A set that depends on it fails now; a second rollback has nothing to do.
$ sh make C4 e --depends C1 && pointsman daemon all --until-idle
| C4
$ pointsman wait C4
! ...
= 1
$ pointsman status C4 | grep ^reason
| reason      dep-rolled-back: ...
$ pointsman rollback C1
! pointsman: rb-nothing: nothing to roll back: 'C1' is already rolled back by '...'
= 100
# A rollback of the rollback.
$ pointsman -q rollback <RB>
| <AGAIN>
$ pointsman daemon all --until-idle
$ pointsman list --all id:C1,C2,C3
| ID ...
| C1 ... done ...
| C2 ... done ...
| C3 ... abandoned, held ...
$ git -C project.git ls-tree --name-only main
| a
| b
| c
$ pointsman fsck
! 6 change sets, ... events, 0 problems
# The results of all sets.
$ pointsman report
| DAY  CLASS  TARGET  JOBS  SUBMITTED  IN PROGRESS  APPLIED  FAILED  TERMINATED  BACK  ...
| -    RB     main    2     0          0            1        0       0           1     ...
| -    DC     main    4     0          0            2        1       1           0     ...dep-rolled-back 1
$ pointsman report --json --by day | wc -l
| 1
$ pointsman report --csv --by class | sed 's/,[0-9]*,[0-9]*,[0-9]*,[0-9]*,\([0-9]*,[^,]*\r$\)/,W,w,R,r,\1/' | tr '\r' '@'
| day,class,target,jobs,submitted,in_progress,applied,failed,terminated,rolled_back,owed,overdue,wait_p50_ms,wait_p95_ms,run_p50_ms,run_p95_ms,inversions,failures@
| -,RB,-,2,0,0,1,0,0,1,0,0,W,w,R,r,0,@
| -,DC,-,4,0,0,2,1,1,0,0,0,W,w,R,r,0,dep-rolled-back 1@
$ pointsman report --csv --json
! pointsman: report prints either --json or --csv
= 64
$ pointsman report --by week
! pointsman: 'by' takes day, class and target, not 'week'
= 64
# The dependencies, exported for any cdb tool.
$ pointsman export-cdb out
! 6 change sets of 1 target
$ cdb -q out/main/deps.cdb sC1
| C2
| C4
$ cdb -q out/main/deps.cdb dC3
| C2
$ cdb -q out/main/deps.cdb dC1
= 100
$ cdb -d -m out/main/deps.cdb | sort
| C4
| dC2 C1
| dC3 C2
| dC4 C1
| sC1 C2
| sC2 C3
# The file of a target without such sets is replaced by an empty one.
$ pointsman export-cdb --since 2100-01-01T00:00:00Z out
! 0 change sets of 1 target
$ cdb -q out/main/deps.cdb sC1
= 100
$ cdb -d out/main/deps.cdb
|
# The order in which sets will start.
$ sh make C6 x && sh make C7 x && pointsman daemon prequeue --once && pointsman daemon queue --once
| C6
| C7
$ pointsman why C7 | tail -1
| C7: expected to start about ...: 1 of its target before it, ... s each
