# The capability of tests/toy/ in use: all that its rows have plugged in.
$ pointsman -q init
# Its section of the configuration, its role and its command are documented.
$ printf '[toy]\nsound = boing\n' >>.pointsman/pointsman.conf && pointsman config check | grep -A1 '^.toy'
| [toy]
| sound = boing ... pointsman.conf:<n>
! configuration OK
$ pointsman help daemon | grep nursery
| ... nursery ... listens to toys
$ pointsman help toy wind | grep -A1 '^  pointsman toy wind'
|   pointsman toy wind bear
|         wind up the bear
$ pointsman help filter | grep '^  kind'
|   kind ... change, command, toy, standing
# A job of its kind by command, and one by an entry in the drop directory.
$ pointsman toy wind bear
| toy-bear
$ pointsman toy wind bear
! pointsman: toy 'bear' has been wound up already
= 100
$ : >.pointsman/prequeue/toy_duck && : >.pointsman/prequeue/toy_Duck && echo x >.pointsman/prequeue/toy_owl
$ pointsman toy list
| bear ...
$ pointsman daemon all --until-idle
! ...
$ ls .pointsman/prequeue .pointsman/reject
| .pointsman/prequeue:
|
| .pointsman/reject:
| toy_Duck
| toy_Duck.why
| toy_owl
| toy_owl.why
$ pointsman list kind:toy
| ID ...
| toy-bear ... toy ... done ...
| toy-duck ... toy ... done ...
$ pointsman logs toy-bear
| boing bear
# The event with its fact, which the list reads back.
$ pointsman history --json toy-duck | grep -o '"facts":.*sound[^}]*}'
| "facts":{"sound":"boing"}
$ pointsman toy list
| bear ... boing
| duck ... boing
$ pointsman toy list --json
| {"name":"bear","squeaked":true,"sound":"boing"}
| {"name":"duck","squeaked":true,"sound":"boing"}
$ pointsman fsck
$ pointsman retry toy-bear
! pointsman: job 'toy-bear' is a toy, which is wound up only once
= 100
