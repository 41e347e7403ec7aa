# Jobs that begin at a time that their submitters name.
$ pointsman -q init
$ pointsman submit --id dated --begin 2035-12-01T02:00:00+01:00 -- true; pointsman status dated | grep before; pointsman why dated | head -1
| dated
| not before  2035-12-01T01:00:00.000Z
| dated: begins at 2035-12-01T01:00:00.000Z, as its submitter asked
$ pointsman list | sed 's/  */ /g'
| ID KIND CLASS STATE SINCE TARGET REASON WHAT
| dated command DC pending, begins 2035-12-01T01:00:00.000Z <age> admitted true
$ pointsman tasks dated --json | jq -r '[.status,.not_before]|@tsv'; pointsman status --json dated | jq -r .submission.begin
| unstarted	2035-12-01T01:00:00.000Z
| 2035-12-01T01:00:00.000Z
# Local times: summer, winter, one that the clock skips, one that comes twice.
$ for when in '2035-07-02 09:00:05' '2035-12-03 09:00' '2035-03-25 02:30' '2035-10-28 02:30'; do TZ=Europe/Berlin pointsman -q submit --begin "$when" -- true >id; pointsman status --json $(cat id) | jq -r .not_before; done
| 2035-07-02T07:00:05.000Z
| 2035-12-03T08:00:00.000Z
| 2035-03-25T00:59:59.000Z
| 2035-10-28T00:30:00.000Z
$ for when in +90m now+90m 00:00 'tomorrow 00:00'; do pointsman -q submit --begin "$when" -- true >id; pointsman status --json $(cat id) | jq -r '((.not_before[0:19]+"Z"|fromdate)-now)|.>=0 and .<=172800'; done; pointsman -q cancel --match state:pending >cancelled
| true
| true
| true
| true
$ for when in 90 now +3x 2:00 25:00 'monday 02:00' '2035-02-30 02:00' 1901-01-01T00:00:00Z ''; do pointsman submit --begin "$when" -- true 2>&1 | grep -o "not '.*"; done
| not '90'
| not 'now'
| not '+3x'
| not '2:00'
| not '25:00'
| not 'monday 02:00'
| not '2035-02-30 02:00'
| not '1901-01-01T00:00:00Z'
| not ''
$ for when in 2262-01-01T00:00:00Z '2300-01-01 02:00' 9999-12-31T00:00:00+01:00 +99999999d; do pointsman submit --begin "$when" -- true 2>&1 | sed 's/.*--begin. //'; done
| must be a time before the year 2262, not '2262-01-01T00:00:00Z'
| must be a time before the year 2262, not '2300-01-01 02:00'
| must be a time before the year 2262, not '9999-12-31T00:00:00+01:00'
| must be a time before the year 2262, not '+99999999d'
# Clocks went back an hour twenty minutes ago, so this time has passed once today.
$ python3 -c 'import time; now = time.time(); rule = lambda s: "%d/%s" % (time.gmtime(s).tm_yday - 1, time.strftime("%H:%M:%S", time.gmtime(s))); print("STD0DST-1,%s,%s" % (rule(now - 30 * 86400), rule(now + 2400))); print(time.strftime("%H:%M:%S", time.gmtime(now + 900)))' >zone; TZ="$(head -n 1 zone)" pointsman -q submit --begin "$(tail -n 1 zone)" -- true >id; pointsman status --json $(cat id) | jq -r '((.not_before[0:19]+"Z"|fromdate)-now)|.<=900'; pointsman -q cancel --match state:pending >cancelled
| true
$ pointsman cron add --begin +1h x '0 2 * * *' -- true
! pointsman: 'cron add' has no option '--begin'; try pointsman help cron add
= 64
# A time that has passed is now; hold, release and cancel work as always.
$ pointsman run --begin 2001-01-01T00:00:00Z -- echo now
| now
$ pointsman submit --id held --hold --begin +1h -- true; pointsman why held | head -2; pointsman release held; pointsman cancel held; pointsman status --json held | jq -r '[.state,.not_before]|@tsv'
| held
| held: held (operator); lifted by: release
| held: begins at <time>, as its submitter asked
| terminated	
# It waits for its dependency and for its time; `retry` starts it at once.
$ pointsman submit --id first --hold -- true; pointsman submit --id second --after first --begin +1h -- true; pointsman submit --id many --begin +1h --array 1-3 -- true; pointsman -q daemon all --until-idle; pointsman why second | grep -c 'dependency first\|begins at'
| first
| second
| many
| 2
$ pointsman release first; pointsman -q daemon all --until-idle; pointsman status --json second many | jq -r '[.id,.state,.not_before!=null]|@tsv'
| second	pending	true
| many	pending	true
$ pointsman retry second many; pointsman -q daemon all --until-idle; pointsman status --json second many | jq -r '[.id,.state,.tasks_done]|@tsv'
| second	done	1
| many	done	3
# The time comes: nothing starts before, and a batch takes it too.
$ date +%s%N >now; pointsman run --begin +1s -- sh -c 'test $(date +%s%N) -ge $(($(cat now) + 1000000000))'
$ printf '{"command":["true"],"begin":"2035-12-01T02:00:00Z"}\n{"command":["true"],"begin":"+1h"}\n' | pointsman submit --batch
| <id>
| error: 'begin' is not a time after 1970 such as "2026-12-01T02:00:00+01:00"
! pointsman: 1 of 2 lines were rejected: see the errors above
= 65
