# doctor and a target that was away while its sets waited.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ printf '#!/bin/sh\nrm -rf d && mkdir d && echo $1 >d/$1 && id=$1 && shift && pointsman -q change pack --submit --target main --id $id "$@" d\n' >make
$ sh make G1 --group g:2 && sh make G2 --group g:2 && pointsman daemon prequeue --once
| G1
| G2
$ mv project.git away && pointsman daemon all --until-idle && mv away project.git
$ pointsman list
| ID ...
| G1 ... unavailable ...
| G2 ... unavailable ...
$ pointsman status | grep unavailable
| unavailable main: no git repository '...'
$ pointsman status --json | grep -c '"unavailable":.{"target":"main","reason":"no git repository '
| 1
# No set has seen it back yet, but doctor looks for itself.
$ pointsman -q doctor | grep '^[a-z]* *target'
| ok ... nothing is in the way now; its change sets, which try again by themselves, found it unavailable at ...: no git repository...
# What is still in the way is a fault.
$ >project.git/refs/heads/main.lock && pointsman -q doctor | grep '^[a-z]* *target'
| warn target ... unavailable, its change sets wait: somebody has locked it: '...project.git/refs/heads/main.lock' is there
$ rm project.git/refs/heads/main.lock && mv project.git/refs away && pointsman -q doctor | grep '^[a-z]* *target'
| warn target ... unavailable, its change sets wait: ...
$ mv away project.git/refs && mkdir .pointsman/conf.d && printf '[target "main"]\ncheck.a = /nowhere/a\n' >.pointsman/conf.d/a.conf && pointsman -q doctor | grep '^[a-z]* *target'
| warn target ... unavailable, its change sets wait: cannot start '/nowhere/a': No such file or directory
$ printf '[target "main"]\ncheck.a = nowhere-a\n' >.pointsman/conf.d/a.conf && pointsman -q doctor | grep '^[a-z]* *target'
| warn target ... unavailable, its change sets wait: no program 'nowhere-a' in PATH
$ rm .pointsman/conf.d/a.conf && pointsman -q doctor | grep -c '^ok *target'
| 1
# Sets that are held, and those that land with one, do not look.
$ pointsman hold G2 && pointsman doctor 2>/dev/null | grep '^[a-z]* *target'
| ok ... its newest commit is there with all its files
$ pointsman release G2 && pointsman doctor 2>/dev/null | grep '^[a-z]* *target'
| ok ... found it unavailable at ...
$ pointsman hold G1 && mv project.git away && pointsman doctor 2>/dev/null | grep '^[a-z]* *target'
| warn target ... no git repository: its change sets wait for one
# The reason is the newest that was found.
$ pointsman release G1 && pointsman retry G1 && pointsman daemon all --until-idle; mv away project.git && >project.git/refs/heads/main.lock && pointsman retry G1 && pointsman daemon all --until-idle
$ pointsman status | grep unavailable
| unavailable main: git update-ref ... Unable to create ...
$ pointsman events --json | jq -r 'select(.kind == "target") | .reason + " " + .detail' | tail -n 2
| unavailable no git repository ...
| unavailable git update-ref ... Unable to create ...
