# A set of a group may depend on a set that another of its sets supersedes.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git && mkdir -p .pointsman/conf.d && printf '[target "main"]\ncheck.good = sh -c "! grep -q bad *"\n' >.pointsman/conf.d/check.conf
$ printf '#!/bin/sh\n# make ID FILE TEXT [OPTION]...\ncd work && git fetch -q ../project.git main && git reset -q --hard FETCH_HEAD && echo "$3" >$2 && git add $2 && git commit -qm "Change $2 for $1" && cd .. && id=$1 && shift 3 && pointsman -q change pack --target main --submit --id $id "$@" -C work main~1..main\n' >make
$ sh make OLD b bad && pointsman daemon all --until-idle
| OLD
$ sh make AGAIN b bad --supersedes OLD && pointsman daemon all --until-idle
| AGAIN
# NEEDS is the first to come, and lands behind the set that it depends on.
$ sh make NEEDS c fine --depends OLD --group g:2 && pointsman daemon all --until-idle
| NEEDS
$ sh make NEW b fine --supersedes AGAIN --group g:2 && pointsman daemon all --until-idle
| NEW
$ pointsman list --all
| ID ...
| OLD ... failed ... check-failed ...
| AGAIN ... failed ... check-failed ...
| NEEDS ... done ...
| NEW ... done ...
$ git -C project.git log --reverse --format=%s main
| one
| Change b for NEW
| Change c for NEEDS
# A dependency that leads back through a set outside the group is a ring.
$ sh make LOST b bad && pointsman daemon all --until-idle
| LOST
$ sh make ONE c two --depends LOST --group h:2 && sh make TWO d two --depends BACK --group h:2 && sh make BACK e fine --supersedes LOST --depends ONE && pointsman daemon all --until-idle
| ONE
| TWO
| BACK
$ pointsman list --all --json | jq -r 'select(.reason|test("dep|group"))|"\(.id) \(.reason)"' | sort
| BACK dep-cycle
| ONE dep-failed
| TWO group-failed
