# A set that supersedes another one satisfies the sets that depend on it.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git && mkdir -p .pointsman/conf.d && printf '[target "main"]\ncheck.good = sh -c "! grep -q bad *"\n' >.pointsman/conf.d/check.conf
$ printf '#!/bin/sh\n# make ID FILE TEXT [OPTION]...\ncd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && echo "$3" >$2 && git add $2 && git commit -qm "Change $2" && cd .. && id=$1 && shift 3 && pointsman -q change pack --target main --submit --id $id "$@" -C work main~1..main\n' >make
$ sh make OLD b bad && sh make NEEDS c fine --depends OLD && sh make LATE d fine --depends OLD
| OLD
| NEEDS
| LATE
$ pointsman daemon prequeue --once && pointsman hold NEEDS && pointsman daemon all --until-idle
# OLD fails, and so does the set that depends on it, but not the held one.
$ pointsman list --all
| ID ...
| OLD ... failed ... check-failed ...
| NEEDS ... held ...
| LATE ... failed ... dep-failed ...
# A set that has not ended cannot be superseded.
$ sh make NEW b fine --supersedes NEEDS
! pointsman: bad-supersedes: it supersedes 'NEEDS', which is queued
= 100
# The superseding set waits too; the released set waits for it by name.
$ sh make AGAIN b bad --supersedes OLD && pointsman daemon prequeue --once && pointsman hold AGAIN && pointsman release NEEDS && pointsman daemon queue --once
| AGAIN
$ pointsman why NEEDS
| NEEDS: dependency OLD is failed; its successor AGAIN must be done first
| NEEDS: no queue role runs here...
# It fails as well; a third set in the chain satisfies the dependency.
$ pointsman hold NEEDS && pointsman release AGAIN && pointsman daemon all --until-idle && pointsman wait AGAIN
! AGAIN: check-failed: ...
= 1
$ sh make THIRD b fine --supersedes AGAIN && pointsman release NEEDS && pointsman daemon all --until-idle && pointsman wait NEEDS THIRD
| THIRD
$ pointsman list --all
| ID ...
| OLD ... failed ...
| NEEDS ... done ...
| LATE ... failed ...
| AGAIN ... failed ...
| THIRD ... done ...
$ git -C project.git log --reverse --format=%s main
| one
| Change b
| Change c
# A later set that depends on the first one can run at once.
$ sh make MORE e fine --depends OLD && pointsman daemon all --until-idle && pointsman wait MORE
| MORE
# A rollback of the superseding set includes the sets that depend on the first.
$ pointsman rollback --preview THIRD
| THIRD  done, is reverted
|   NEEDS  done, is reverted
|   LATE  failed, needs nothing
|   MORE  done, is reverted
| 3 reverted, 0 abandoned, 0 stopped, 3 files
| the reverse merges are clean
