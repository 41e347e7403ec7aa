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
| {"id":"C1","depth":2,"of":"C2","state":"done","again":false}
# A preview changes nothing.
$ pointsman rollback --preview C1
| C1  done, is reverted
|   C2  done, is reverted
|     C3  queued, is abandoned
| 2 reverted, 1 abandoned, 0 stopped, 2 files
| the reverse merges are clean
$ pointsman rollback --preview --limit 1 C1 | tail -1
| 2 reverted, 1 abandoned, 0 stopped, 2 files
! pointsman: rb-too-large: 2 sets with 2 files would be rolled back; the limits are 1 set and 5000 files (--limit): C1 C2
$ pointsman rollback --limit 1 C1
! pointsman: rb-too-large: 2 sets with 2 files would be rolled back; the limits are 1 set and 5000 files (--limit): C1 C2
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
$ pointsman rollback --preview C1
| C1  done, is rolled back by <RB>
| 0 reverted, 0 abandoned, 0 stopped, 0 files
| nothing to roll back: 'C1' is already rolled back by '<RB>'
$ pointsman rollback C1
| <NONE>
! rollback <NONE> is queued: nothing to roll back: 'C1' is already rolled back by '<RB>'
$ pointsman daemon all --until-idle && pointsman wait <NONE>
$ pointsman status <NONE> | grep -E '^(state|reason|unchanged)'
| state       done ...
| reason      rb-nothing: nothing to roll back: 'C1' is already rolled back by '<RB>'
| unchanged   C1
# Without --because, what it rolls back tells what it is.
$ pointsman list --json --all class:RB | jq -r .what
| b is wrong
| roll back C1
# Its members and what became of them.
$ pointsman status <RB> | grep -E '^(reverted|abandoned)'
| reverted    C1
| reverted    C2
| abandoned   C3
$ pointsman status --json <RB> | jq -c .members
| [{"id":"C1","state":"done","fate":"reverted"},{"id":"C2","state":"done","fate":"reverted"},{"id":"C3","state":"abandoned","fate":"abandoned"}]
$ pointsman depends <RB>
| rollback    C1  done, reverted  Add b
| rollback    C2  done, reverted  Add c
| rollback    C3  abandoned  Add d
$ pointsman depends --json <RB> | jq -c '[.relation,.id,.fate]'
| ["rollback","C1","reverted"]
| ["rollback","C2","reverted"]
| ["rollback","C3","abandoned"]
$ pointsman history --json <RB> | jq -r 'select(.id!="<RB>")|[.id,.kind,.reason]|@tsv' | sort
| C1	rolled-back	rolled-back
| C2	rolled-back	rolled-back
| C3	move	rollback
# A rollback of the rollback: the preview lists what comes back.
$ pointsman rollback --preview <RB>
| <RB>  done, is reverted
|   C1  done, is restored
|   C2  done, is restored
| 1 reverted, 0 abandoned, 0 stopped, 2 restored, 2 files
| the reverse merges are clean
$ pointsman rollback --preview --json <RB> | jq -c '[.id,.fate,.because_of]' | sed -n 3,4p
| ["C1","restore","<RB>"]
| ["C2","restore","<RB>"]
$ pointsman -q rollback <RB>
| <AGAIN>
$ pointsman daemon all --until-idle
$ pointsman list --all id:C1,C2,C3
| ID ...
| C1 ... done ...
| C2 ... done ...
| C3 ... abandoned, held ...
$ pointsman status --json <AGAIN> | jq -c .members
| [{"id":"<RB>","state":"done","fate":"reverted"},{"id":"C1","state":"done","fate":"restored"},{"id":"C2","state":"done","fate":"restored"}]
$ pointsman history <AGAIN> | grep -c reinstated
| 2
$ pointsman status <RB> | grep -E '^(reverted|abandoned)'
| reverted    C1
| reverted    C2
| abandoned   C3
$ git -C project.git ls-tree --name-only main
| a
| b
| c
$ pointsman fsck
! 7 change sets, ... events in their logs, 0 problems
# The results of all sets.
$ pointsman report
| DAY  CLASS  TARGET  JOBS  SUBMITTED  IN PROGRESS  APPLIED  FAILED  TERMINATED  BACK  ROLLBACKS  ...
| -    RB     main    3     0          0            2        0       0           1     2          ...
| -    DC     main    4     0          0            2        1       1           0     0          ...dep-rolled-back 1
$ pointsman report --json --by day | wc -l
| 1
$ pointsman report --csv --by class | sed 's/,[0-9]*,[0-9]*,[0-9]*,[0-9]*,[0-9]*,[0-9]*,\([0-9]*,[^,]*\r$\)/,W,w,R,r,C,M,\1/' | tr '\r' '@'
| day,class,target,jobs,submitted,in_progress,applied,failed,terminated,rolled_back,rollbacks,rollbacks_empty,owed,overdue,wait_p50_ms,wait_p95_ms,run_p50_ms,run_p95_ms,cpu_us,peak_kib,inversions,failures@
| -,RB,-,3,0,0,2,0,0,1,2,0,0,0,W,w,R,r,C,M,0,@
| -,DC,-,4,0,0,2,1,1,0,0,0,0,0,W,w,R,r,C,M,0,dep-rolled-back 1@
$ pointsman report --csv --json
! pointsman: report prints either --json or --csv
= 64
$ pointsman report --by week
! pointsman: '--by' takes day, class and target, not 'week'
= 64
# The dependencies, exported for any cdb tool.
$ pointsman export-cdb out
! 7 change sets of 1 target
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
# A set supersedes one that failed: what depends on that one depends on it.
$ sh make C5 e --supersedes C4 && sh make C8 f --depends C4 && pointsman daemon all --until-idle
| C5
| C8
$ pointsman dependents --tree C5
| C5  done
|   C8  done
$ pointsman dependents --tree --json C5 | tail -1 | jq -c '[.id,.of]'
| ["C8","C5"]
$ pointsman export-cdb out
! 9 change sets of 1 target
$ cdb -q out/main/deps.cdb sC5
| C8
$ cdb -q out/main/deps.cdb dC8
| C4
| C5
# Nothing can be estimated while no role runs.
$ sh make C6 x && sh make C7 x && pointsman daemon prequeue --once && pointsman daemon queue --once
| C6
| C7
$ pointsman why C7 | grep -c expected
| 0
= 1
# An estimate, while other sets are all that it waits for.
$ mkfifo begun go && mkdir -p .pointsman/conf.d && printf '[target "main"]\ncheck.wait = sh -c "echo x >%s/begun; cat %s/go"\n' "$PWD" "$PWD" >.pointsman/conf.d/check.conf
& pointsman serve --listen off until .pointsman/ctrl/sock
$ cat begun
| x
$ pointsman why C7
| C7: position 2 of 2 on the train of main, on top of C6
| C7: no lane: main uses 1 of 1 (C6)
| C7: expected to start about ...: 1 of its target before it, ... s each
# The wait of a running set counts.
$ pointsman report --json --since "$(pointsman status --json C6 | jq -r .admitted)" | jq -c '[.jobs,.executing,.wait_p50_ms>=0,.run_p50_ms]'
| [2,1,true,null]
$ echo >go && pointsman wait C6 && cat begun
| x
$ echo >go && pointsman wait C7
