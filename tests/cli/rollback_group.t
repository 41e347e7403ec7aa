# Sets of a group that landed together are rolled back together.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ printf '#!/bin/sh\nrm -rf d && mkdir d && echo $1 >d/$1 && id=$1 && shift && pointsman -q change pack --submit --target main --id $id "$@" d\n' >make
$ sh make G1 --group g:2 && sh make G2 --group g:2 && pointsman daemon all --until-idle
| G1
| G2
# A later group may have the same name. X1 depends on a set of the first.
$ sh make G3 --group g:2 && sh make G4 --group g:2 && sh make X1 --depends G2 && pointsman daemon all --until-idle
| G3
| G4
| X1
$ pointsman rollback --preview G1
| G1  done, is reverted
|   G2  done, is reverted (same group)
|     X1  done, is reverted
| 3 reverted, 0 abandoned, 0 stopped, 3 files
| the reverse merges are clean
$ pointsman rollback --preview --json G1 | jq -c 'select(.by_group)|[.id,.because_of]'
| ["G2","G1"]
$ pointsman -q rollback G1
| <RB>
$ pointsman daemon all --until-idle && pointsman wait <RB>
$ git -C project.git ls-tree --name-only main
| G3
| G4
| a
$ pointsman status --json <RB> | jq -c '[.members[]|.id,.fate]'
| ["G1","reverted","G2","reverted","X1","reverted"]
# They come back together, too.
$ pointsman -q rollback <RB>
| <S>
$ pointsman daemon all --until-idle && pointsman wait <S>
$ git -C project.git ls-tree --name-only main
| G1
| G2
| G3
| G4
| X1
| a
# A set that is rolled back already is not taken again.
$ pointsman -q rollback G4 && pointsman daemon all --until-idle
| ...
$ pointsman rollback --preview G3
| G3  done, is rolled back by ...
| 0 reverted, 0 abandoned, 0 stopped, 0 files
| nothing to roll back: 'G3' is already rolled back by '...'
$ pointsman fsck
! 8 change sets, ... events in their logs, 0 problems
