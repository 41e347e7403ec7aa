# Templates: commands with declared parameters.
$ pointsman -q init
$ printf '%s\n' '[template "restart"]' "command = printf '(%s)' --host={host} {count} {what} {dry} 'in {dir}' {note} {nothing}" 'description = restarts a service' 'class = BF' 'retries = 2' 'timeout = 10m' 'touches = db, web' "param.host = string pattern='[a-z0-9.-]+' description='which host'" 'param.count = int min=1 max=9 default=3' 'param.what = choice choices=web|db' 'param.dry = bool default=no' 'param.dir = path default=/srv' 'param.note = string max=20 default=none' '[template "each"]' 'command = echo {} {word}' 'param.word = string' >>.pointsman/pointsman.conf; pointsman config check >checked
$ pointsman template list | sed 's/  */ /g'
| TEMPLATE PARAMETERS ALLOWED WHAT
| restart host* count what* dry dir note restarts a service
| each word* 
$ pointsman template show restart
| restart
| what        restarts a service
| command     printf '(%s)' '--host={host}' '{count}' '{what}' '{dry}' 'in {dir}' '{note}' '{nothing}'
| class       BF
| retries     2
| timeout     600
| touches     db, web
| param       host: string, from 1, to 4096, pattern [a-z0-9.-]+, has to be given: which host
| param       count: int, from 1, to 9, default '3'
| param       what: choice, one of web|db, has to be given
| param       dry: bool, default 'no'
| param       dir: path, default '/srv'
| param       note: string, from 1, to 20, default 'none'
$ pointsman template show --json restart | jq -c '.params[0],.params[1],.params[2].choices,.allowed,.command[2]'
| {"name":"host","type":"string","required":true,"default":null,"min":1,"max":4096,"pattern":"[a-z0-9.-]+","choices":[],"description":"which host"}
| {"name":"count","type":"int","required":false,"default":"3","min":1,"max":9,"pattern":null,"choices":[],"description":""}
| ["web","db"]
| true
| "--host={host}"
$ pointsman template show nope
! pointsman: there is no template 'nope'
= 66
# Values go into words, whatever they contain.
$ pointsman run --id one --template restart --param host=db1 --param what=web --param dry=true --param 'note=a; $(id) {dir}'
| (--host=db1)(3)(web)(yes)(in /srv)(a; $(id) {dir})({nothing})
$ pointsman status one | grep -E 'template|class|touches'; pointsman status --json one | jq -c '.submission|[.template,.params,.retries,.timeout]'
| kind        command, class BF
| template    restart
| touches     db
| touches     web
| ["restart",{"host":"db1","count":"3","what":"web","dry":"yes","dir":"/srv","note":"a; $(id) {dir}"},2,600]
$ pointsman submit --id again --template restart --param host=a --param what=db; pointsman submit --id again --template restart --param host=a --param what=db; pointsman submit --id again --template restart --param host=b --param what=db
| again
| again
! pointsman: id 'again' belongs to another job; choose another one
= 100
$ pointsman run --template each --param word=x --array 1-2
| 1 x
| 2 x
$ pointsman submit --template each --param 'word=a{}b' --array 1-2
! pointsman: template 'each': 'word' has a {} or {#}, which an array replaces
= 65
# All that is wrong is said at once.
$ pointsman submit --template restart --class EM --retries 1 --timeout 5 --param hots=x --param what=mail --param count=12 --param dir=/a/../x --param note=-rf --param dry=perhaps
! pointsman: template 'restart': it sets 'class' itself; it sets 'retries' itself; it sets 'timeout' itself; there is no 'hots', did you mean 'host'?; 'host' is missing: which host; 'count' = '12' is not a number from 1 to 9; 'what' = 'mail' is not one of web|db; 'dry' = 'perhaps' is not yes or no; 'dir' = '/a/../x' is not an absolute path without the parts . and ..; 'note' = '-rf' is not allowed: the command may take what begins with - for an option
= 65
$ pointsman submit --template restart -- echo
! pointsman: the command comes from the template; 'echo' is in its place
= 64
$ pointsman submit --param a=b -- echo
! pointsman: --param is only for a template: write --template NAME
= 64
$ pointsman submit --template restart --param a=b --param a=c
! pointsman: '--param a' is there twice
= 64
$ pointsman submit --template restart --param a
! pointsman: '--param a' is not NAME=VALUE
= 64
$ pointsman submit --template nope
! pointsman: there is no template 'nope'; pointsman template list shows those there are
= 65
$ printf '%s\n' '{"template":"each","params":{"word":"x"}}' '{"template":"each","command":["id"],"params":{"word":"x"}}' '{"command":["x"],"params":{"a":"b"}}' '{"template":"each","params":["x"]}' | pointsman submit --batch
| <id>
| error: template 'each': its command cannot be given
| error: 'params' are only for a template
| error: 'params' is not an object of strings
! pointsman: 3 of 4 lines were rejected: see the errors above
= 65
# Mistakes in the configuration name their line.
$ cp .pointsman/pointsman.conf good; for line in 'param.x = number' 'param.x = int min=9 max=1' 'param.x = int default=a' 'param.x = choice' 'param.X = int' 'param.x = string pattern="("' 'param.x = bool min=1' 'param.x = int 5' 'param.x = int' 'class = ZZ' 'dir = srv' 'command ='; do { cat good; echo "$line"; } >.pointsman/pointsman.conf; pointsman config check 2>&1 | sed 's/.*conf:[0-9]*: //'; done; cp good .pointsman/pointsman.conf
| param.x: the type comes first: string, int, bool, choice or path
| param.x: min is larger than max
| param.x: default: 'x' = 'a' is not a number
| param.x: a choice needs choices=A|B|C
| param.X: a parameter has a name of 1 to 40 small letters, digits, '-' and '_', a letter first
| param.x: pattern: '(' is not a regular expression: a '(' without its ')' at character 2
| param.x: a parameter of type bool has no 'min'
| param.x: '5' is not KEY=VALUE; quote values with blanks
| template 'each': its command has no {x}
| class: 'ZZ' is not one of RB, EM, BF, DC, optionally with a priority as in EM.200
| dir: 'srv' is not an absolute path
| template 'each' has no command
# A schedule has its own command.
$ pointsman cron add --template each nightly '0 2 * * *' -- true
! pointsman: 'cron add' has no option '--template'; did you mean '--replace'?
= 64
