# The sets of a stack can land as a group: in one move of the branch.
$ git init -q --bare -b main project.git
$ git init -q -b main work && cd work && echo 0 >a && git add . && git commit -qm one && git push -q ../project.git main
$ pointsman -q init --target main=project.git
$ cd work && git checkout -qb topic && for i in 1 2 3 4; do echo $i >>a; git commit -qam "Line $i"; done
$ pointsman -q change pack --stack --submit --id G --group g:4 -C work main..topic
| G-1
| G-2
| G-3
| G-4
$ pointsman daemon all --until-idle
$ git -C project.git reflog --format=%gs main
| pointsman: land G-1 G-2 G-3 G-4
$ git -C project.git rev-parse main^{tree} >landed; git -C work rev-parse topic^{tree} | cmp - landed
# The tree of each set was rebuilt once.
$ pointsman logs G-1 | grep '^rebuilding'
| rebuilding the tree of base set G-1
| rebuilding the tree of base set G-2
| rebuilding the tree of base set G-3
