# Mistakes in the configuration of targets are found before a set waits for them.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main
# A branch that is checked out.
$ pointsman init --target main=work
! target 'main' is unavailable, its change sets wait: branch 'main' is checked out in '.../work'; run `git switch --detach` there, or use a bare repository
! created base '.pointsman'; try: pointsman run -- echo hello
$ pointsman config check >listed
! warning: target 'main' is unavailable, its change sets wait: branch 'main' is checked out in '.../work'; run `git switch --detach` there, or use a bare repository
! configuration OK, with warnings
$ pointsman -q doctor | grep '^[a-z]* *target'
| warn target ... branch 'main' is checked out in '.../work'; run `git switch --detach` there, or use a bare repository
$ mkdir d && echo 2 >d/b && pointsman -q change pack --submit --target main --id C1 d
| C1
$ pointsman daemon all --until-idle
$ pointsman list
| ID ...
| C1 ... pending ... unavailable ...
$ pointsman why C1 | grep -o 'branch .main. is checked out'
| branch 'main' is checked out
# The same for a rollback.
$ git -C work switch -q --detach && pointsman config check >listed
! configuration OK
$ pointsman -q doctor | grep '^[a-z]* *target'
| ok   target ... found it unavailable at ...: branch 'main' is checked out in ...
$ pointsman -q hold C1 && pointsman -q release C1 && until pointsman daemon all --until-idle && pointsman status C1 | grep -q done; do :; done
$ git -C work log --format=%s main
| C1
| one
$ git -C work switch -q main && pointsman -q rollback C1 && pointsman daemon all --until-idle 2>/dev/null
| <ID>
$ pointsman status <ID> | grep -E '^(state|reason)'
| state       pending since ...
| reason      unavailable: branch 'main' is checked out in ...
# Two targets that are one branch, by the same path and by another one.
$ pointsman init --target a=project.git --target b=./project.git two
! pointsman: --target: targets 'a' and 'b' are the same branch 'main' of one repository, so each would land what the other one has not checked; remove one of them
= 78
$ pointsman -q init --target a=project.git --target b=project.git#next two
$ ln -s project.git link.git && mkdir two/conf.d && printf '[target "c"]\ngit = %s/link.git\n' "$PWD" >two/conf.d/c.conf
$ pointsman --base two config check >listed
! pointsman: conf.d/c.conf:2: targets 'a' and 'c' are the same branch 'main' of one repository, ...
= 78
$ pointsman --base two -q doctor | grep '^warn.*targets'
| warn targets        conf.d/c.conf:2: targets 'a' and 'c' are the same branch ...
$ pointsman --base two serve --listen off
! pointsman: conf.d/c.conf:2: targets 'a' and 'c' are the same branch ...
= 78
$ pointsman --base two daemon all --until-idle
! pointsman: conf.d/c.conf:2: targets 'a' and 'c' are the same branch ...
= 78
# By a symbolic ref.
$ git -C project.git symbolic-ref refs/heads/alias refs/heads/main && printf '[target "c"]\ngit = %s/project.git\nbranch = alias\n' "$PWD" >two/conf.d/c.conf && pointsman --base two config check >listed
! pointsman: conf.d/c.conf:2: targets 'a' and 'c' are the same branch 'main' of one repository, ...
= 78
$ pointsman --base two -q doctor | grep '^warn.*targets'
| warn targets        conf.d/c.conf:2: targets 'a' and 'c' are the same branch ...
$ git -C project.git symbolic-ref -d refs/heads/alias
# A target without checks has nothing to run again.
$ rm two/conf.d/c.conf && pointsman --base two train recheck a
! pointsman: target 'a' has no checks, so there is nothing to run on its tip; see check.NAME in pointsman.conf(5)
= 100
$ pointsman --base two train forget a
! target 'a' has no checks: only results of former ones were dropped
$ printf '[target "a"]\ncheck.unit = make\n' >two/conf.d/c.conf && pointsman --base two train recheck a && pointsman --base two train forget a
# What only a shell would understand.
$ printf '[target "b"]\ncheck.unit = make && make test\ncheck.quoted = sh -c '"'make && make test'"'\nenvironment = cc --version >out\n' >two/conf.d/c.conf && pointsman --base two config check >listed
! warning: conf.d/c.conf:4: no shell reads this line, so '>out' is an ordinary word; for a shell write environment = sh -c 'cc --version >out'
! warning: conf.d/c.conf:2: no shell reads this line, so '&&' is an ordinary word; for a shell write check.unit = sh -c 'make && make test'
! warning: target 'b': '...project.git' has no branch 'next'; it has main
! configuration OK, with warnings
# Accounts that do not exist.
$ printf '[target "b"]\nuser = nobody-here\n' >two/conf.d/c.conf && pointsman --base two config check >listed
! pointsman: conf.d/c.conf:2: user of target 'b': no user 'nobody-here' on this machine
= 78
$ pointsman --base two -q doctor | grep '^warn.*targets'
| warn targets        conf.d/c.conf:2: user of target 'b': no user 'nobody-here' on this machine
$ printf '[schedule "s"]\nitem = 0 2 * * *\nrun = true\nuser = nobody-here\n' >two/conf.d/c.conf && pointsman --base two config check >listed
! pointsman: conf.d/c.conf:4: user of schedule 's': no user 'nobody-here' on this machine
= 78
$ printf '[access]\noperator = @no-group-here\n' >two/conf.d/c.conf && pointsman --base two config check >listed
! pointsman: conf.d/c.conf:2: [access] names '@no-group-here', which is no account or group on this machine and so has no role
= 78
$ mkdir -p .pointsman/conf.d && printf '[target "url"]\ngit = https://example.org/a.git\n' >.pointsman/conf.d/url.conf && pointsman config check 2>&1 >listed | grep -o 'is a URL, .*'
| is a URL, but sets land in a repository on this machine: create one with 'git clone --bare URL DIR' and set git = DIR
