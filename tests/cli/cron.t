# When next? No base is needed.
$ pointsman cron next --zone America/Los_Angeles --from 1362909540 --count 3 '{"minute":{},"dst_fixes":["unskip","repeat_use_both"]}'
| 2013-03-10T01:59:00-08:00
| 2013-03-10T01:59:59-08:00
| 2013-03-10T03:00:00-07:00
$ pointsman cron next --zone America/Los_Angeles --epoch --from 2013-11-03T01:00:01-07:00 '{"hour":1,"minute":0,"dst_fixes":["skip","repeat_use_only_early"]}'
| 1383555600
$ pointsman cron prev --zone Europe/London --from 2026-06-30T12:00:00Z --count 2 '30 9 1 * *'
| 2026-06-01T09:30:00+01:00
| 2026-05-01T09:30:00+01:00
$ pointsman cron next --from 0 '{"epoch":[2700,5400]}' --count 5 --json
| {"epoch":2700,"at":"1970-01-01T00:45:00+00:00"}
| {"epoch":5400,"at":"1970-01-01T01:30:00+00:00"}
$ pointsman cron next --zone UTC --from 5401 '{"epoch":[2700,5400]}'
| none
# Mistakes are told with their place, and what was perhaps meant.
$ pointsman cron next --zone UTC '{"hour": 3, "minute": 0}'
! pointsman: line 1, column 1: key 'dst_fixes' is missing: say what becomes of times that the clock jumps over or shows twice, for example {"hour": 3, "minute": 0, "dst_fixes": ["unskip", "repeat_use_only_early"]}
= 65
$ pointsman cron next --zone UTC '{"day": 3, "minute": 0}'
! pointsman: line 1, column 2: unknown key 'day'; did you mean 'day_of_month'?
= 65
$ pointsman cron next --zone America/Los_Angles '@daily'
! pointsman: unknown zone 'America/Los_Angles'; did you mean 'America/Los_Angeles'?
= 65
$ pointsman cron next --zone ../zoneinfo/UTC '@daily'
! pointsman: '../zoneinfo/UTC' is no name of a zone: paths are not taken
= 65
$ pointsman cron next --from tomorrow '@daily'
! pointsman: '--from' takes seconds since 1970, or a time such as 2026-03-08T01:59:30-08:00, not 'tomorrow'
= 64
$ pointsman cron next --from 99999999999999 '@daily'
! pointsman: instant 99999999999999 lies beyond the years 0 to 10000
= 64
$ pointsman cron next
! pointsman: 'cron next' needs an item, ...
= 64
# In words.
$ pointsman cron explain '{"hour":[10,20],"minute":0,"day_of_week":"Tue","dst_fixes":["skip","repeat_use_both"]}'
| at 10:00 and 20:00 on Tuesday. When clocks change, a time that is jumped over is left out; a time that comes twice fires both times.
$ pointsman cron explain '*/5 9-17 * * Mon-Fri'
| {"minute": {"period": 5}, "hour": {"start": 9, "end": 17}, "day_of_week": {"start": "Mon", "end": "Fri"}, "dst_fixes": ["skip", "repeat_use_both"]}
| every 5 minutes of hours 9 to 17 on Monday to Friday. When clocks change, a time that is jumped over is left out; a time that comes twice fires both times.
# What may surprise.
$ pointsman cron check --zone MST-07 --from 0 '* 3 * * *'
| note: zone 'MST-07' has the offset +07:00 then
| warning: in a POSIX TZ string the sign counts westwards: 'MST-07' is east of Greenwich; write -07:00 if the opposite was meant
| warning: fires 60 times in a row, 60 s apart, then not for 82860 s
= 1
$ pointsman cron check --zone Europe/London --from 1767225600 '30 1 * * *'
| note: the clock jumps over 1 time of it at 2026-03-29T02:00:00+01:00: fires once in the second before, 2026-03-29T00:59:59+00:00
| note: the clock is turned back at 2026-10-25T01:00:00+00:00: 1 time of it comes twice, it fires 1 time
| note: the clock jumps over 1 time of it at 2027-03-28T02:00:00+01:00: fires once in the second before, 2027-03-28T00:59:59+00:00
| note: the clock is turned back at 2027-10-31T01:00:00+00:00: 1 time of it comes twice, it fires 1 time
$ pointsman cron check --zone UTC --from 4102444800 '{"minute":0,"year":2090,"dst_fixes":["skip","repeat_use_both"]}'
| warning: never fires from 2100-01-01T00:00:00+00:00 on
= 1
# A batch: one line of answer for each line.
$ printf '%s\n' '{"zone":"America/Los_Angeles","from":1362909540,"item":{"minute":3,"dst_fixes":["unskip","repeat_use_both"]}}' '{"zone":"UTC","from":6,"item":{"epoch":5}}' '{"zone":"Nowhere","from":0,"item":{"epoch":5}}' 'nonsense' '' '{"zone":"UTC","from":"1970-01-01T00:00:01Z","item":"@daily"}' '{"zone":"UTC","from":1e400,"item":"@daily"}' '{"zone":"UTC","item":"@daily"}' | pointsman cron next --batch
| 1362909599
| none
| error: unknown zone 'Nowhere'; ...
| error: ...
| error: ...
| 86400
| error: 'from' is a whole number of seconds ...
| error: key 'from' is missing
