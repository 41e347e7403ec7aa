# - is standard input or output wherever a command reads or writes a file.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 1 >a && git add a && git commit -qm one && git push -q ../project.git main && echo 2 >a && git commit -qam 'Change a'
$ pointsman -q init --target main=project.git
$ pointsman -q change pack --id C1 -C work main~1..main -o - | pointsman change submit -
| C1
$ printf 'one\ntwo\n' | pointsman submit --id A1 --hold --array - -- echo
| A1
$ printf '0 3 * * * true\n' | pointsman cron import --prefix night -
| ...
! now remove the crontab, or cron runs the commands as well: crontab -r
$ echo '0 3 * * 1-5' | pointsman cron explain -
| ...
# A backup goes through a pipe.
$ pointsman -q backup - | pointsman -q --base other restore -
$ pointsman --base other list --json --all | wc -l
| 2
$ pointsman --base other fsck
! ...
$ pointsman -q backup - >saved.tar && tar -tf saved.tar | tail -1
| MANIFEST
# The cdb file of one target is the same on standard output.
$ pointsman -q export-cdb out && pointsman -q export-cdb - >deps.cdb && cmp deps.cdb out/main/deps.cdb
$ pointsman export-cdb --target nosuch -
! pointsman: no target 'nosuch' is configured
= 64
$ git init -q --bare -b main second.git && printf '[target "second"]\ngit = ../second.git\n' >>.pointsman/pointsman.conf
$ pointsman export-cdb - >both
! pointsman: standard output takes the records of one target, and there are 2: give --target
= 64
$ pointsman -q export-cdb --target main - | cmp - deps.cdb
# What was cut short leaves nothing.
$ pointsman -q backup - 2>/dev/null | head -c 60000 | pointsman --base cut restore -
! pointsman: cannot restore '-': ...
= 65
$ test ! -e cut && test ! -e cut.restore
$ pointsman --base cut restore - </dev/null
! pointsman: cannot restore '-': ...
= 65
# Standard input can be read only once.
$ pointsman change submit - - </dev/null
! pointsman: '-' is given twice, but standard input can be read only once
= 64
$ pointsman change submit --approval - - </dev/null
! pointsman: '-' is given twice, but standard input can be read only once
= 64
# A terminal shows no archives.
$ for what in 'backup -' 'change pack --target main -C work main~1..main -o -'; do script -qec "pointsman $what" /dev/null </dev/null | tr -d '\r'; done
| pointsman: standard output is a terminal; redirect it to a file or a pipe
| pointsman: standard output is a terminal; redirect it to a file or a pipe
# A set from standard input needs a name when it is put into a directory.
$ pointsman change put - </dev/null
! pointsman: standard input has no name: give that of the set with --name, or use `change submit -`
= 64
$ name=C9_@400000006a1b2c3d00000000_1_host_DC; mkdir d; echo 9 >d/n; pointsman -q change pack --target main --id C9 -o - d | pointsman change put --name $name -
| C9_@400000006a1b2c3d00000000_1_host_DC
$ pointsman daemon all --until-idle 2>log; pointsman list id:C9 | grep -c done
| 1
$ pointsman change put --name X a b
! pointsman: --name is for one file, not for 2
= 64
$ echo | pointsman change put --name short -
! pointsman: bad-name: ...
= 100
