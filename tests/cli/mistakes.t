# Mistakes of new users, and the errors they get.
$ pointsman list
! pointsman: ...
= 78
$ pointsman
| pointsman queues commands and change sets, orders and runs them.
| 
| usage: pointsman COMMAND [OPTION]... [ARGUMENT]...
| ...
$ pointsman sumbit -- true
! pointsman: no command 'sumbit'; did you mean 'submit'?
= 64
$ pointsman frobnicate
! pointsman: no command 'frobnicate'; try pointsman help, or to run a program: pointsman run -- frobnicate
= 64
$ pointsman ls -l
! pointsman: no command 'ls'; did you mean 'list'?
= 64
$ pointsman kill 7
! pointsman: no command 'kill'; did you mean 'cancel'?
= 64
$ pointsman change
! pointsman: 'change' needs one more word: pack, submit, put
= 64
$ pointsman change submti x
! pointsman: no command 'change submti'; did you mean 'change submit'?
= 64
$ pointsman -q init
$ pointsman init --target main=nosuch.git other
! target 'main' is unavailable, its change sets wait: no git repository 'nosuch.git' yet
! created base 'other'; try: pointsman run -- echo hello
$ pointsman --base other doctor | grep '^warn .*target'
| warn target         main: .../nosuch.git; no git repository: its change sets wait for one
! pointsman: the base has problems, see above
$ mkdir -p other/conf.d; printf '[serve]\nlisten = 99999\n' >other/conf.d/listen.conf; pointsman --base other config check >listed
! pointsman: conf.d/listen.conf:2: cannot listen on '99999': write ADDRESS:PORT, such as 127.0.0.1:8750, or off
= 78
$ pointsman init --target main=x.git
! pointsman: '.pointsman' is a base already: write the target into its pointsman.conf
= 100
$ pointsman init
! pointsman: ...
= 100
$ pointsman submit
! pointsman: 'submit' needs a command; write pointsman submit -- COMMAND
= 64
$ pointsman submit --retires 3 -- true
! pointsman: 'submit' has no option '--retires'; did you mean '--retries'?
= 64
$ pointsman submit --retries many -- true
! pointsman: '--retries' must be a number from 0 to 1000, not 'many'
= 64
$ pointsman submit --retries
! pointsman: '--retries' needs a value: N
= 64
$ pointsman submit -x -- true
! pointsman: 'submit' has no option '-x'; try pointsman help submit
= 64
$ pointsman submit --clean=yes -- true
! pointsman: '--clean' takes no value
= 64
$ pointsman submit --class XX -- true
! pointsman: 'XX' is not a class: use RB, EM, BF or DC, and .NNN after it for a priority within the class
= 64
$ pointsman submit --node elsewhere -- true
! pointsman: no node 'elsewhere': this base has only 'local'
= 64
$ pointsman submit --node= -- true
! pointsman: no node '': this base has only 'local'
= 64
$ pointsman submit --timeout soon -- true
! pointsman: '--timeout' must be a duration such as 90, 90s, 15m or 2h, not 'soon'
= 64
$ pointsman submit --env NOT_SET_HERE -- true
! pointsman: 'NOT_SET_HERE' is not set in the environment; write --env NOT_SET_HERE=VALUE
= 64
$ pointsman submit --id 'a b' -- true
! pointsman: ...
= 65
$ pointsman submit --id '' -- true
! pointsman: '' is not an id (...
= 65
# Values that cannot be stored exactly are refused.
$ pointsman submit -- rm "$(printf 'a\377')"
! pointsman: an argument is not UTF-8 text: 'a\xff'
= 65
$ pointsman submit --env "X=$(printf '\377')" -- true
! pointsman: a variable's value is not UTF-8 text: '\xff'
= 65
$ printf 'a\377\n' | pointsman submit --array - -- rm
! pointsman: a line of --array is not UTF-8 text: 'a\xff'
= 65
$ printf 'a\nb\na\n' | pointsman submit --id twice --array - -- rm
! pointsman: '--array' has 'a' twice; the lines of an array must be unique
= 65
$ pointsman submit --array 1-1000000000000 -- true
! pointsman: --array: '1-1000000000000' holds more than 100000 elements; split it into several jobs
= 64
$ pointsman submit --array 9-1 -- true
! pointsman: --array: '9-1' runs backwards; the smaller number comes first
= 64
$ pointsman submit --array=-9-1 -- true
! pointsman: --array: '-9-1' is no range of numbers from 0 on: write FIRST-LAST, FIRST-LAST:STEP or one number (a file of that name: ./NAME)
= 64
$ pointsman submit --array 1-5,3 -- true
! pointsman: '--array' has '3' twice; the lines of an array must be unique
= 65
$ pointsman submit --max-running 2 -- true
! pointsman: '--max-running' is only for arrays
= 65
$ pointsman submit --array none -- true
! pointsman: cannot open 'none': No such file or directory
= 73
$ pointsman status nobody
! pointsman: no job...
= 66
$ pointsman wait nobody
! pointsman: no job...
= 66
$ pointsman logs @last
! pointsman: no job was submitted yet
= 66
$ pointsman submit --id one -- true
| one
$ pointsman submit --id one -- false
! pointsman: id 'one' belongs to another job; choose another one
= 100
$ pointsman submit --id one -- true
| one
$ pointsman logs one
! pointsman: job 'one' has not run yet: pending; try pointsman why one
= 66
$ pointsman logs --attempt 0 one
! pointsman: '--attempt' must be a number from 1 to 4294967295, not '0'
= 64
# Patterns of six or seven columns, as in other programs.
$ pointsman cron add six '0 30 2 * * *' -- true
! pointsman: '0 30 2 * * *' has 6 columns; a crontab line has five: minute, ...
= 65
$ pointsman cron add star * 2 * * * -- true
! pointsman: '...' is not a pattern: put five columns into quotes, such as '30 2 * * *', so that the shell keeps them together
= 65
$ pointsman cron next '0 0 2 ? * * 2027'
! pointsman: '0 0 2 ? * * 2027' has 7 columns; a crontab line has five: minute, ...
= 65
$ pointsman cron next nightly
! pointsman: 'nightly' is not an item: an item is JSON or the five columns of a crontab line; for a schedule, try pointsman cron list or pointsman cron explain nightly
= 65
$ pointsman cron next '0 5 * * echo missing'
! pointsman: line 1, column 9: 'echo' is not a value of day_of_week: a crontab line has five columns before its command, and their names have three letters, as Mon or Jan
= 65
$ pointsman cron next '{}'
! pointsman: line 1, column 1: key 'minute' is missing; "minute": {} means every minute
= 65
$ pointsman list -state:done
! pointsman: 'list' has no option '-s'; to exclude what a filter matches, write -- before it: pointsman list -- -state:done
= 64
$ pointsman list state:finished
! pointsman: filter, at byte 7: unknown state 'finished'; use queued, ...
= 64
$ pointsman -q submit --id gone1 -- true && pointsman -q cancel gone1 && pointsman logs gone1
| gone1
! pointsman: job 'gone1' has no output, because it never ran: terminated; try pointsman why gone1
= 66
$ pointsman changes pack
! pointsman: no command 'changes'; did you mean 'change'?
= 64
$ pointsman help --man pointsman-changes
! pointsman: --man prints no page 'pointsman-changes', only those of commands, pointsman and pointsman.conf; others are installed: man pointsman-changes, or see pointsman help
= 64
$ pointsman run --array . -- true
! pointsman: file '.': cannot read: Is a directory
= 73
$ pointsman cron next '0 2 * * * make'
! pointsman: 'make' follows the five columns; an item does not include the command
= 65
$ pointsman set concurency 3
! pointsman: no setting 'concurency'; did you mean 'queue.concurrency'?
= 64
$ pointsman set queue.shape round
! pointsman: no setting 'queue.shape'; pointsman settings lists them
= 64
$ pointsman help pointsman.conf
! pointsman: pointsman.conf has a manual page: ...
= 64
$ (HOME=$PWD/home XDG_STATE_HOME=; cd /; pointsman list)
! pointsman: no base: there is no .pointsman in this directory or above, and no '...home/.local/state/pointsman'...
= 78
$ pointsman cron list nosuch
! pointsman: no schedule 'nosuch'
= 66
$ pointsman retry one
! pointsman: job 'one' has not ended: pending
= 100
$ pointsman release one
! pointsman: job 'one' is not held
= 100
$ pointsman cancel
! pointsman: 'cancel' needs an ID, or --match FILTER
= 64
$ pointsman cancel ''
! pointsman: 'cancel': an argument is empty ...
= 64
$ pointsman status one ''
! pointsman: 'status': an argument is empty ...
= 64
$ pointsman cancel --match --yes
! pointsman: '--match' needs a filter before '--yes' (cancel --match state:pending --yes)
= 64
$ pointsman hold --match -y
! pointsman: '--match' needs a filter before '-y' (hold --match state:pending --yes)
= 64
$ pointsman -q cancel --match -x1
| 1
$ pointsman run --user no-such-user -- true
! pointsman: ...no user 'no-such-user' on this machine
= 125
$ pointsman submit --user no-such-user -- true
! pointsman: ...no user 'no-such-user' on this machine
= 78
$ pointsman cancel one --match x
! pointsman: give IDs or --match, not both: 'one'
= 64
$ pointsman wait --timeout 0 one
! pointsman: one: no exec role runs here; ...
! pointsman: job 'one' has not ended: pending
= 124
$ pointsman cancel one
$ pointsman cancel one
! pointsman: job 'one' has ended already: terminated
= 100
$ pointsman wait one
! one: operator, exit code 143
= 143
# Every command reports that it cannot write its output.
$ pointsman status one >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ pointsman why one >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ pointsman list >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ pointsman cancel --match id:none >/dev/full
! no job matches
! pointsman: cannot write to standard output: No space left on device
= 73
$ echo '{"command":["true"],"id":"two"}' | pointsman submit --batch >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ pointsman cancel two
$ pointsman run -- echo lost >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ pointsman logs @last >/dev/full
! pointsman: cannot write to standard output: No space left on device
= 73
$ (pointsman run -- seq 200000; echo $? >&2) | head -1
| 1
! 141
$ (pointsman run -- yes; echo $? >&2) | head -1
| y
! 141
$ (pointsman run -- sh -c 'yes | head -1000000; exit 3'; echo $? >&2) | head -1
| y
! 141
# Submitted text cannot control a terminal or forge a line of the history.
$ pointsman submit --id steer -- printf "$(printf 'a\033[31m\nb')"
| steer
$ pointsman cancel --because "$(printf 'no\n\033[1mmore')" steer
$ pointsman why steer
| steer: terminated since ...: operator: no\n\x1b[1mmore
$ pointsman history steer | tail -1
| ... steer pending > terminated operator ...: no\n\x1b[1mmore
$ pointsman status steer | sed -n 2p
| what        printf 'a\x1b[31m\nb'
$ pointsman list steer | tail -1 | sed 's/.*operator *//'
| printf 'a\x1b[31m\nb'
$ pointsman list state:nosuch
! pointsman: ...
= 64
$ pointsman list --limit none
! pointsman: '--limit' must be a number from 0 to 1000000, not 'none'
= 64
$ pointsman daemon quue
! pointsman: no daemon 'quue'; did you mean 'queue'?
= 64
$ pointsman set queue.concurency 3
! pointsman: no setting 'queue.concurency'; did you mean 'queue.concurrency'?
= 64
$ pointsman set queue.concurrency many
! pointsman: ...
= 65
$ mkdir sources; pointsman change submit sources
! pointsman: 'sources' is a directory, not a change set; pack it first: ...
= 64
$ pointsman change submit none.tar
! pointsman: cannot open 'none.tar': No such file or directory
= 73
$ echo junk >junk.tar; pointsman change submit junk.tar
! pointsman: 'junk.tar': not-tar: ...
= 100
$ pointsman change put junk.tar
! pointsman: ...
= 100
$ pointsman --server ftp://x list
! pointsman: cannot connect to 'ftp://x': use http://HOST:PORT or unix:PATH
= 64
$ pointsman --server unix:nowhere list
! pointsman: no process listens on socket 'nowhere'; is the server running?
= 69
$ pointsman --base . --server unix:x list
! pointsman: give --base or --server, not both
= 64
$ pointsman --base "$PWD" list
! pointsman: no base in '...'; did you mean '.../.pointsman'?
= 78
$ pointsman --base .pointsman/pointsman.conf list
! pointsman: '...pointsman.conf' is not a directory; name the directory of a base with --base
= 78
$ pointsman --base /nonexistent list
! pointsman: ...
= 78
# A missing output is reported as lost, not shown as an empty one.
$ pointsman run --id gone -- echo something
| something
$ rm .pointsman/attempts/segments/*
$ pointsman logs gone
! pointsman: attempt 1: 10 bytes of its output are lost: its file is missing
$ pointsman --color sometimes list
! pointsman: '--color' must be auto, always or never, not 'sometimes'
= 64
$ pointsman help nosuch
! pointsman: there is no help on 'nosuch'; try pointsman help
= 64
$ pointsman help filtre
! pointsman: there is no help on 'filtre'; did you mean 'filter'?
= 64
$ echo 'colour = red' >>.pointsman/pointsman.conf; pointsman list
! pointsman: ...pointsman.conf:...
= 78
