# A new attempt under a new id serves who waits for the old one.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git && mkdir -p .pointsman/conf.d && printf '[target "main"]\ncheck.good = sh -c "! grep -q bad *"\n' >.pointsman/conf.d/check.conf
$ printf '#!/bin/sh\n# make ID FILE TEXT [OPTION]...\ncd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && echo "$3" >$2 && git add $2 && git commit -qm "Change $2" && cd .. && id=$1 && shift 3 && pointsman -q change pack --target main --submit --id $id "$@" -C work main~1..main\n' >make
$ sh make OLD b bad && sh make NEEDS c fine --depends OLD && sh make LATE d fine --depends OLD
| OLD
| NEEDS
| LATE
$ pointsman daemon prequeue --once && pointsman hold NEEDS && pointsman daemon all --until-idle
# It fails, and with it who needs it; not yet who is held.
$ pointsman list --all
| ID ...
| OLD ... failed ... check-failed ...
| NEEDS ... held ...
| LATE ... failed ... dep-failed ...
# Who lives has no second attempt.
$ sh make NEW b fine --supersedes NEEDS
! pointsman: bad-supersedes: it supersedes 'NEEDS', which is queued
= 100
# The new attempt waits too; who is let go meanwhile waits for it, by name.
$ sh make AGAIN b bad --supersedes OLD && pointsman daemon prequeue --once && pointsman hold AGAIN && pointsman release NEEDS && pointsman daemon queue --once
| AGAIN
$ pointsman why NEEDS
| NEEDS: dependency OLD is failed; its successor AGAIN must be done first
| NEEDS: no queue role runs here...
# It fails as well: a third one, in the chain, serves.
$ pointsman hold NEEDS && pointsman release AGAIN && pointsman daemon all --until-idle && pointsman wait AGAIN
! AGAIN: check-failed: ..., exit code 1
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
# Who comes later, and needs the first of them, is served at once.
$ sh make MORE e fine --depends OLD && pointsman daemon all --until-idle && pointsman wait MORE
| MORE
# What serves is what others stand on: it goes back with them.
$ pointsman rollback --preview THIRD
| THIRD  done, is reverted
|   NEEDS  done, is reverted
|   LATE  failed, needs nothing
|   MORE  done, is reverted
| 3 reverted, 0 abandoned, 0 stopped, 3 files
| the reverse merges are clean
