# Rollbacks submitted as tarballs, and their errors.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git && mkdir -p .pointsman/conf.d && printf '[queue]\nrollback-max = 2\n[target "other"]\ncommand = true\n' >.pointsman/conf.d/more.conf
$ printf '#!/bin/sh\nrm -rf d && mkdir d && echo $1 >d/$1 && t=$2 && id=$1 && shift 2 && pointsman -q change pack --submit --target $t --id $id "$@" d\n' >make
$ printf '#!/bin/sh\n# rb N TARGET LINE...\nrm -rf r && mkdir r && n=R0$1_@400000006553f15e0000000$1_1_h_RB && { printf "##movetype\\nRB\\n##target\\n$2\\n##dependencies\\n" && shift 2 && printf "%%s\\n" "$@"; } >r/meta && tar -C r -cf $n meta && pointsman -q change submit $n\n' >rb
$ sh make C1 main && sh make C2 main --depends C1 && sh make C3 main --depends C2 && sh make O1 other && pointsman daemon all --until-idle
| C1
| C2
| C3
| O1
# Each rollback fails with one line and changes nothing.
$ sh rb 1 main C77 && sh rb 2 main O1 && sh rb 3 main C1 && sh rb 4 main C3 C88 && pointsman daemon all --until-idle
| R01
| R02
| R03
| R04
$ pointsman wait R01
! R01: rb-unknown: no job 'C77'
= 1
$ pointsman wait R02
! R02: rb-target: 'O1' belongs to target 'other', this rollback to 'main': submit a rollback for each target
= 1
$ pointsman wait R03
! R03: rb-too-large: 3 sets with 3 files would be rolled back; the limits are 2 sets and 5000 files (--limit): C1 C2 C3
= 1
$ pointsman wait R04
! R04: rb-unknown: no job 'C88'
= 1
$ pointsman list --all id:C1,C2,C3,O1
| ID ...
| C1 ... done ...
| C2 ... done ...
| C3 ... done ...
| O1 ... done ...
$ git -C project.git ls-tree --name-only main
| C1
| C2
| C3
| a
# Some rollbacks are not admitted.
$ sh rb 5 nope C1
! pointsman: ...unknown-target: no target 'nope' is configured in pointsman.conf
= 100
$ sh rb 6 main R06
! pointsman: ...##dependencies names the set itself, 'R06'
= 100
$ sh rb 7 main ''
! pointsman: ...a rollback (RB) names the sets to roll back in ##dependencies, which is empty
= 100
# Sets that are rolled back already are noted; the others are rolled back.
$ sh rb 8 main C3 && pointsman daemon all --until-idle && pointsman wait R08
| R08
$ sh rb 9 main C3 && pointsman daemon all --until-idle && pointsman wait R09
| R09
$ pointsman status R09 | grep ^reason
| reason      rb-nothing: nothing to roll back: 'C3' is already rolled back by 'R08'
# The command gives the same answer as the file.
$ pointsman -q rollback C3
| <N>
$ pointsman daemon all --until-idle && pointsman wait <N>
$ pointsman status <N> | grep ^reason
| reason      rb-nothing: nothing to roll back: 'C3' is already rolled back by 'R08'
# Files in lroot/ of a rollback are ignored.
$ sh make C4 main && pointsman daemon all --until-idle
| C4
$ mkdir -p r/lroot/x && echo x >r/lroot/x/y && printf '##movetype\nRB\n##target\nmain\n##dependencies\nC4\n' >r/meta && tar -C r -cf R10_@400000006553f15e0000000a_1_h_RB meta lroot && pointsman -q change submit R10_@400000006553f15e0000000a_1_h_RB
| R10
$ pointsman daemon all --until-idle && pointsman wait R10 && pointsman status --json R10 | jq -c '[.touches,.members]'
| [[],[{"id":"C4","state":"done","fate":"reverted"}]]
# C2 is rolled back too. C3 can be restored together with C2, but not alone.
$ pointsman -q rollback C2 --because 'it was no good'
| <R>
$ pointsman daemon all --until-idle && pointsman wait <R>
$ pointsman rollback R08
! pointsman: rb-lacks: 'C3' would be in effect again without 'C2', which it depends on: also roll back the rollback of that set
= 100
$ pointsman -q rollback R08 <R>
| <S>
$ pointsman daemon all --until-idle && pointsman wait <S>
$ git -C project.git ls-tree --name-only main
| C1
| C2
| C3
| a
