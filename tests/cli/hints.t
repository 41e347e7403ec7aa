# What is said about work that waits or failed, and about mistakes with sets.
$ pointsman -q init
$ pointsman submit --id first --after nosuch -- true
| first
! pointsman: there is no job 'nosuch' yet; the job waits for it for at most 3600 s (queue.wait-for-dep), then fails
$ pointsman cancel first
$ pointsman submit --id held --hold -- true
| held
$ pointsman submit --id behind --after held -- true
| behind
$ pointsman daemon all --until-idle
$ pointsman why behind
| behind: dependency held is pending since <time>, held (operator)
| ...
$ pointsman wait --timeout 0 behind
! pointsman: behind: no <role> role runs here; ...
! pointsman: ...
= 124
$ pointsman submit --id limited --timeout 1 -- sleep 100
| limited
$ pointsman daemon all --until-idle; pointsman why limited
| limited: failed since <time>: timeout...
| limited: its time limit is 1 s (--timeout); pointsman logs limited shows what it printed until then
$ seq -f item%g 8 >items; pointsman submit --id some --array items -- sh -c 'exit {#}'; pointsman submit --id good -- true; pointsman daemon all --until-idle; pointsman why some
| some
| good
| some: failed since <time>: failed: 8 of 8 tasks failed
| some: failed tasks: item1, item2, item3, item4, item5 and 3 more; see pointsman tasks some state:failed, and pointsman logs --failed --label some
$ pointsman wait some
! some: failed: 8 of 8 tasks failed, exit code 1
! pointsman tasks some state:failed lists the tasks that failed
= 1
$ pointsman submit --id night -- false; pointsman submit --id report --after night -- true; pointsman daemon all --until-idle
| night
| report
$ pointsman retry report
! pointsman: report fails again while its dependencies have not succeeded: pointsman retry night
$ pointsman daemon all --until-idle; pointsman retry night
! pointsman: failed jobs that depend on night are not retried with it: pointsman retry report
$ mkdir bare; pointsman --base bare status
! pointsman: '...' is not a base, it has no pointsman.conf: name the directory of one with --base, or create one with 'pointsman init'
= 78
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
$ rm -rf .pointsman; pointsman -q init --target main=project.git
$ grep -A1 -B2 'check.unit' .pointsman/pointsman.conf
| # Commands that must succeed before a set lands, each with a name. They run
| # without a shell; for its syntax write sh -c '...'.
| # check.unit = make check
|
$ pointsman init --target main=https://example.org/a.git other
! pointsman: target 'main': 'https://example.org/a.git' is a URL, but sets land in a repository on this machine: create one with 'git clone --bare URL DIR', then use --target main=DIR
= 64
$ mkdir -p .pointsman/conf.d; printf '[target "main"]\ncheck.unit = sh -c "seq 1 30000 >&2; test ! -e .git && test $POINTSMAN_TARGET = main && test $POINTSMAN_CSIDS = K1 && exit 2"\n' >.pointsman/conf.d/check.conf
$ cd work && echo 2 >b && git add . && git commit -qm two && echo 3 >c && echo 4 >>a
$ pointsman change pack --id K1 -C work main~1..main --submit
| K1
! set K1: 1 file, 0 deleted
! 2 paths with uncommitted changes are not packed
$ pointsman daemon all --until-idle
# The end of a check follows all of its output.
$ pointsman logs K1 | grep -A1 '^30000$'
| 30000
| == check 'unit' exited with 2 after ... s
$ pointsman change pack -C work main..main~1
! pointsman: cannot pack: nothing to pack: 'main' has 1 commit more than 'main~1'; did you mean 'main~1..main'?
= 65
$ pointsman change pack -C work main..main
! pointsman: cannot pack: nothing to pack: 'main..main' changes no file; only committed changes are packed
= 65
$ pointsman change pack -C work --class URGENT main~1..main
! pointsman: cannot pack: 'URGENT' is not a class; use EM, BF or DC
= 64
$ pointsman change pack -C work --submit --target mian main~1..main
! pointsman: unknown-target: no target 'mian' is configured in pointsman.conf; did you mean 'main'?
= 100
$ pointsman change pack --stack -C work --id S -o sets/ main~1..main && ls sets | wc -l
| sets/...
| 1
! set S-1: 1 file, 0 deleted
! 2 paths with uncommitted changes are not packed
# A branch, a repository and a person that do not exist.
$ pointsman init --target main=project.git#maste other
! target 'main': 'project.git' has no branch 'maste'; it has main
! created base 'other'; ...
$ rm .pointsman/conf.d/check.conf; printf '[target "far"]\ngit = /nowhere/a.git\n[target "old"]\ngit = ../project.git\nbranch = master\n[access]\nsubmitter = person:anne\n[person "ann"]\naccounts = 1\n' >.pointsman/conf.d/more.conf; pointsman config check
| ...
! warning: target 'far' is unavailable, its change sets wait: no git repository '/nowhere/a.git' yet
! warning: target 'old': '...project.git' has no branch 'master'; it has main
! warning: [access] names person:anne, but there is no section [person "anne"]; did you mean 'ann'?
! configuration OK, with warnings
# A server that reads a wrong name again warns of it.
& pointsman serve --listen off 2>served until .pointsman/ctrl/sock
$ printf '[access]\nsubmitter = nobody-of-that-name\n[approval "x"]\nrole = @no-such-group\n' >.pointsman/conf.d/more.conf; kill -HUP $(cat .pointsman/ctrl/serve.pid); until grep -q no-such-group served; do :; done; grep -o "names 'nobody[^']*'" served
| names 'nobody-of-that-name'
