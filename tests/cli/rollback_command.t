# A target that is a command: its `revert` undoes each set, newest first.
$ pointsman -q init
$ printf '#!/bin/sh\necho $1 $POINTSMAN_CSID >>%s/log && test ! -e %s/sick\n' $PWD $PWD >does && chmod +x does
$ mkdir -p .pointsman/conf.d && printf '[target "live"]\ncommand = %s/does in\nrevert = %s/does out\n[target "oneway"]\ncommand = true\n' $PWD $PWD >.pointsman/conf.d/targets.conf
$ printf '#!/bin/sh\nrm -rf d && mkdir d && echo $1 >d/$1 && t=$2 && id=$1 && shift 2 && pointsman -q change pack --submit --target $t --id $id "$@" d\n' >make
$ sh make A1 live && sh make A2 live --depends A1 && sh make A3 live --depends A2 && pointsman daemon all --until-idle
| A1
| A2
| A3
$ cat log
| in A1
| in A2
| in A3
$ pointsman rollback --preview A2
| A2  done, is reverted
|   A3  done, is reverted
| 2 reverted, 0 abandoned, 0 stopped, 2 files
$ pointsman -q rollback A2
| <R1>
$ pointsman daemon all --until-idle && pointsman wait <R1> && tail -2 log
| out A3
| out A2
# A rollback of the rollback applies the sets again, oldest first.
$ pointsman -q rollback <R1>
| <R2>
$ pointsman daemon all --until-idle && pointsman wait <R2> && tail -2 log
| in A2
| in A3
# A rollback of that rollback and of a set it restored: each is undone once.
$ pointsman -q rollback <R2> A3
| <R3>
$ pointsman daemon all --until-idle && pointsman wait <R3> && tail -n +8 log
| out A3
| out A2
$ pointsman list --all id:A1,A2,A3
| ID ...
| A1 ... done ...
| A2 ... rolled back ...
| A3 ... rolled back ...
# If the command fails, the error names the set and the sets undone before it.
$ touch sick && pointsman -q rollback A1
| <R4>
$ pointsman daemon all --until-idle
$ pointsman wait <R4>
! <R4>: rb-command: A1: ...
= 1
$ pointsman status A1 | grep -e ^state -e rolled
| state       done ...
# Without a `revert` command, sets cannot be rolled back.
$ sh make B1 oneway && pointsman daemon all --until-idle
| B1
$ pointsman rollback --preview B1
| B1  done, is reverted
| 1 reverted, 0 abandoned, 0 stopped, 1 file
| the reverse merges fail: rb-target: target 'oneway' has no revert command
= 1
$ pointsman -q rollback B1
| <R5>
$ pointsman daemon all --until-idle
$ pointsman wait <R5>
! <R5>: rb-target: target 'oneway' has no revert command; write revert = COMMAND into its section
= 1
$ pointsman status B1 | grep ^state
| state       done ...
# A `revert` command that takes longer than the target's timeout is killed.
$ printf '[target "slow"]\ncommand = true\nrevert = sleep 3600\ntimeout = 1\n' >.pointsman/conf.d/slow.conf
$ sh make S1 slow && pointsman daemon all --until-idle && pointsman -q rollback S1
| S1
| <R6>
$ pointsman daemon all --until-idle
$ pointsman wait <R6>
! <R6>: rb-command: S1: timeout command timed out (1 s)
= 1
$ pointsman status S1 | grep ^state
| state       done ...
# A rollback cannot be retried or packed.
$ pointsman retry <R6>
! pointsman: job '<R6>' is a rollback, which cannot be retried; submit a new one with `rollback`
= 100
# One rollback cannot cover sets of two targets.
$ rm sick && pointsman rollback A1 B1
! pointsman: rb-target: 'B1' belongs to target 'oneway', this rollback to 'live': submit a rollback for each target
= 100
# A set that a set of another target depends on cannot be rolled back.
$ sh make B2 oneway --depends A1 && pointsman daemon all --until-idle && pointsman rollback A1
| B2
! pointsman: rb-target: 'B2' of target 'oneway' depends on what is to be rolled back: roll it back first
= 100
$ pointsman fsck
! 12 change sets, ... events in their logs, 0 problems
