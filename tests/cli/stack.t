# A branch of several commits becomes a stack of sets. The target is left out:
# there is only one.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && mkdir sec && printf '1\n2\n3\n4\n5\n' >a && echo s >sec/s && git add . && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ cd work && git checkout -qb topic && sed -i s/2/two/ a && git commit -qam 'First' -m 'With a reason.'
$ cd work && echo t >t && git add . && git commit -qm 'Second'
$ cd work && sed -i s/two/TWO/ a && git commit -qam 'Third'
$ pointsman change pack --stack --submit --id T -C work main..topic
| T-1
| T-2
| T-3
! set T-1: 1 file, 0 deleted
! set T-2: 1 file, 0 deleted
! set T-3: 1 file, 0 deleted
$ pointsman daemon all --until-idle
$ git -C project.git log --format='%T %an %ad %s%n%b' main | sed '/^CS-/d' | grep . >landed; git -C work log --format='%T %an %ad %s%n%b' topic | grep . >made; cmp landed made && wc -l <landed
| 5
$ pointsman dependents --tree T-1
| T-1  done
|   T-2  done
|     T-3  done
# Main moves on before a stack lands, which begins where an earlier one ended:
# its base is a commit of the author's repository.
$ cd work && sed -i s/TWO/2/ a && git commit -qam 'Fourth'
$ cd work && echo u >>t && git commit -qam 'Fifth'
$ cd work && git checkout -q main && git pull -q ../project.git main && sed -i s/5/five/ a && git commit -qam 'On main' && git push -q ../project.git main && git checkout -q topic
$ pointsman -q change pack --stack --submit --id U --depends T-3 -C work topic~2..topic
| U-1
| U-2
$ pointsman daemon all --until-idle
$ git -C project.git show main:a main:t | tr '\n' ' '
| 1 2 3 4 five t u ...
# Each set of a stack is approved by itself.
$ printf '[approval "sec"]\npath = sec/**\ncount = 1\n' >>.pointsman/pointsman.conf
$ cd work && echo v >v && git add v && git commit -qm v && echo 2 >>sec/s && git commit -qam sec && echo w >>v && git commit -qam w
$ pointsman -q change pack --stack --submit --id V --depends U-2 -C work topic~3..topic
| V-1
| V-2
| V-3
$ pointsman daemon all --until-idle
$ pointsman list --all | grep ^V | sed 's/  */ /g;s/ change DC / /;s/ [0-9]*s .*//'
| V-1 done
| V-2 queued, held
| V-3 staged
$ git -C project.git show main:v main:sec/s | tr '\n' ' '
| v s ...
$ pointsman file sec/s | tail -1
| V-2 ...
# Wrong uses.
$ : >nowhere; pointsman change pack --stack -o nowhere -C work main..topic
! pointsman: cannot pack: 'nowhere' is not a directory; with --stack, --output names the directory for the tarballs
= 64
$ pointsman change pack --stack -o - -C work main..topic
! pointsman: cannot pack: --stack makes several tarballs, and standard output takes one; give a directory as --output, and submit the tarballs in it in order
= 64
$ pointsman change pack --stack --message x -C work main..topic
! pointsman: cannot pack: give --stack or --message, not both
= 64
$ pointsman change pack --stack work
! pointsman: cannot pack: --stack needs a range of commits like main..fix
= 64
$ cd work && git checkout -qb merged main && git merge -q --no-ff -X theirs -m merge topic 2>/dev/null
$ pointsman change pack --stack -C work main..merged
! pointsman: cannot pack: commit ... so the commits cannot become a stack; rebase the branch, or pack the range as one set
= 65
# Standard output and standard input. No tarball is left in the work tree.
$ cd work && git checkout -q main && git pull -q ../project.git main && echo x >x && git add x && git commit -qm x
$ pointsman -q change pack --id X1 -o - -C work main~1..main | pointsman change submit -
| X1
$ cd work && pointsman -q change pack --id X2 main~1..main | sed 's,.*/,,;s/_.*//'
| X2
$ git -C work status --porcelain; ls | grep -c ^X2_
| 1
$ pointsman daemon all --until-idle
$ pointsman wait X1
# Without a target the set lands only if there is just one.
$ printf '[target "other"]\ngit = project.git\nbranch = other\n' >>.pointsman/pointsman.conf
$ pointsman -q change pack --id X3 -o - -C work main~1..main | pointsman change submit -
! pointsman: '-': unknown-target: it names no target, and pointsman.conf has 2 of them; pack it again with --target
= 100
# The relation is kept if the registry is rebuilt, and so is the target of the
# sets that had named none.
$ mkdir away && mv .pointsman/ctrl/registry.db* away && pointsman -q fsck --rebuild
$ pointsman status U-2 | grep -o 'base-set .*'
| base-set    U-1
$ pointsman list --json id:X1 | grep -o .target.:.[a-z]*
| "target":"main
# Sections that cannot be true are refused at the door.
$ mkdir -p E/lroot && echo x >E/lroot/x && printf '##movetype\nDC\n##files\nx\n##target\nmain\n##base-set\nX1\n##base-tree\n%040d\n' 1 >E/meta && tar -C E -cf E1_@400000005f5e10a50a000000_1_h_DC meta lroot/x
$ pointsman change submit E1_*
! pointsman: 'E1_@400000005f5e10a50a000000_1_h_DC': meta-value: meta: ##base-set: 'X1' is not in ##dependencies
= 100
$ echo '##dependencies' >>E/meta && echo X1 >>E/meta && tar -C E -cf E2_@400000005f5e10a50a000000_1_h_DC meta lroot/x
$ pointsman change submit E2_*
| E2
$ pointsman -q daemon all --until-idle; pointsman history E2 | grep -o 'its ##base-tree.* is not the tree that its base set .X1. makes'
| its ##base-tree 000000000000 is not the tree that its base set 'X1' makes
