# The next instants of an item; no base is needed.
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
# Errors show the position and a suggestion.
$ pointsman cron next --zone UTC '{"hour": 3, "minute": 0}'
! pointsman: line 1, column 1: key 'dst_fixes' is missing: it says what happens to times that the clock skips or shows twice, for example {"hour": 3, "minute": 0, "dst_fixes": ["unskip", "repeat_use_only_early"]}
= 65
$ pointsman cron next --zone UTC '{"day": 3, "minute": 0}'
! pointsman: line 1, column 2: unknown key 'day'; did you mean 'day_of_month'?
= 65
$ pointsman cron next --zone America/Los_Angles '@daily'
! pointsman: unknown zone 'America/Los_Angles'; did you mean 'America/Los_Angeles'?
= 65
$ pointsman cron next --zone ../zoneinfo/UTC '@daily'
! pointsman: '../zoneinfo/UTC' is not the name of a zone: paths are not accepted
= 65
$ pointsman cron next --zone +25:00 '@daily'
! pointsman: zone '+25:00' is not an offset such as +02:00, at most 24 hours; east is plus
= 65
$ pointsman cron next --zone UTC '{"month": "Sept.", "minute": 0}'
! pointsman: line 1, column 11: 'Sept.' is not a name for month; did you mean 'September'?
= 65
$ pointsman cron next --from tomorrow '@daily'
! pointsman: '--from' must be seconds since 1970 or a time such as 2026-03-08T01:59:30-08:00, not 'tomorrow'
= 64
$ pointsman cron next --from 99999999999999 '@daily'
! pointsman: instant 99999999999999 is outside the years 0 to 10000
= 64
$ pointsman cron next
! pointsman: 'cron next' needs an item, ...
= 64
# Explanations in words.
$ pointsman cron explain '{"hour":[10,20],"minute":0,"day_of_week":"Tue","dst_fixes":["skip","repeat_use_both"]}'
| at 10:00 and 20:00 on Tuesday. When clocks change, a time that is skipped does not fire; a time that occurs twice fires both times.
$ pointsman cron explain '*/5 9-17 * * Mon-Fri'
| {"minute": {"period": 5}, "hour": {"start": 9, "end": 17}, "day_of_week": {"start": "Mon", "end": "Fri"}, "dst_fixes": ["skip", "repeat_use_both"]}
| every 5 minutes of hours 9 to 17 on Monday to Friday. When clocks change, a time that is skipped does not fire; a time that occurs twice fires both times.
# What is uneven, which months have no such day, and how day columns combine.
$ for i in '*/7 * * * *' '0 */5 * * *' '*/10 */5 * * *' '0 0 */3 * *' '0 0 31 * *' '0 0 31 1,4 *' '0 0 30 * *' '0 0 29 2 *' '0 0 29 2,4 *' '* 3 * * *'; do pointsman cron explain "$i" | sed -e 1d -e 's/\. When clocks.*//'; done
| every 7 minutes (uneven: 4 minutes from :56 to :00)
| at 00:00, 05:00, 10:00, 15:00 and 20:00 (uneven: 4 hours from hour 20 to midnight) every day
| every 10 minutes of every 5th hour from 0 to 20 (uneven: 4 hours from hour 20 to midnight) every day
| at 00:00 on every 3rd day of the month from 1 to 31 (starts again each month)
| at 00:00 on the 31st of the month (not in February, April, June, September and November)
| at 00:00 on the 31st of the month in January and April (not in April)
| at 00:00 on the 30th of the month (not in February)
| at 00:00 on the 29th of the month in February (only in leap years)
| at 00:00 on the 29th of the month in February and April (not in February, except in leap years)
| every minute of hour 3 (60 times, from 03:00 to 03:59) every day
$ pointsman cron explain '0 0 1,15 * 1' | sed 's/\. When clocks.*//' | tail -3
| fires if either day column matches, because neither begins with a star:
| at 00:00 on the 1st and 15th of the month
| at 00:00 on Monday
$ pointsman cron explain '0 0 */2 * 0' | sed 's/\. When clocks.*//' | tail -2
| fires only if both day columns match, because one of them begins with a star:
| at 00:00 on every 2nd day of the month from 1 to 31 (starts again each month) if it is Sunday
# Warnings about surprising patterns.
$ for i in '*/7 * * * *' '0 */5 * * *' '*/45 * * * *' '0 0 1,15 * 1' '0 0 */2 * 0' '0 0 31 1,4 *' '0 0 29 2,4 *' '*/2 9-17 * * *' '*/15 */6 * * *' '@daily' '0 0 28-31 * *' '0,45 * * * *'; do pointsman cron check --zone UTC --from 0 "$i"; done
| warning: every 7 minutes is uneven: only 4 minutes from minute 56 to the full hour, because 60 is no multiple of 7
| warning: every 5 hours is uneven: only 4 hours from hour 20 to midnight, because 24 is no multiple of 5
| warning: every 45 minutes is uneven: only 15 minutes from minute 45 to the full hour, because 60 is no multiple of 45
| warning: either of the two day columns is enough, because neither begins with a star; for both, write a JSON item with weekday_of_month
| warning: every 2 days of the month starts again on the 1st; use iter_day for every 2 days across months
| warning: both day columns must match, because one of them begins with a star; without it, one match would be enough
| warning: months without such a day are skipped: April; -1 in a JSON item is the last day of every month
| warning: months without such a day are skipped: February (except in leap years); -1 in a JSON item is the last day of every month
| note: fires 270 times in a row, 2 minutes apart, from 1970-01-01T09:00:00+00:00 to 1970-01-01T17:58:00+00:00, then not for 15 hours 2 minutes
$ pointsman cron check --zone UTC --from 0 '{"minute": {"period": 7}, "hour": {"start": 1, "period": 9}, "day_of_month": 31, "dst_fixes": ["skip", "repeat_use_both"]}'
| warning: every 7 minutes is uneven: ...
| warning: months without such a day are skipped: February, April, June, September, November; ...
= 1
$ pointsman cron check --zone MST-07 --from 0 '* 3 * * *'
| note: zone 'MST-07' has the offset +07:00 then
| warning: in a POSIX TZ string the sign counts westwards: 'MST-07' is east of Greenwich; write -07:00 if the opposite was meant
| warning: fires 60 times in a row, 1 minute apart, from 1970-01-02T03:00:00+07:00 to 1970-01-02T03:59:00+07:00, then not for 23 hours 1 minute; was one run meant, with a number for the minute?
= 1
$ pointsman cron check --zone Etc/GMT+5 --from 0 '0 3 * * *'
| note: zone 'Etc/GMT+5' has the offset -05:00 then
| warning: in a POSIX TZ string the sign counts westwards: 'Etc/GMT+5' is west of Greenwich; write +05:00 if the opposite was meant
= 1
$ pointsman cron check --zone Europe/London --from 1767225600 '30 1 * * *'
| note: 1 run in the time the clock skips at 2026-03-29T02:00:00+01:00: fires once in the second before, 2026-03-29T00:59:59+00:00
| note: the clock is turned back at 2026-10-25T01:00:00+00:00: 1 local time occurs twice; fires 1 time
| note: 1 run in the time the clock skips at 2027-03-28T02:00:00+01:00: fires once in the second before, 2027-03-28T00:59:59+00:00
| note: the clock is turned back at 2027-10-31T01:00:00+00:00: 1 local time occurs twice; fires 1 time
$ pointsman cron check --zone UTC --from 4102444800 '{"minute":0,"year":2090,"dst_fixes":["skip","repeat_use_both"]}'
| warning: never fires after 2100-01-01T00:00:00+00:00
= 1
# A batch prints one line for each input line.
$ printf '%s\n' '{"zone":"America/Los_Angeles","from":1362909540,"item":{"minute":3,"dst_fixes":["unskip","repeat_use_both"]}}' '{"zone":"UTC","from":6,"item":{"epoch":5}}' '{"zone":"Nowhere","from":0,"item":{"epoch":5}}' 'nonsense' '' '{"zone":"UTC","from":"1970-01-01T00:00:01Z","item":"@daily"}' '{"zone":"UTC","from":1e400,"item":"@daily"}' '{"zone":"UTC","item":"@daily"}' | pointsman cron next --batch
| 1362909599
| none
| error: unknown zone 'Nowhere'; ...
| error: ...
| error: ...
| 86400
| error: 'from' must be a whole number of seconds ...
| error: key 'from' is missing
$ (head -c 2000000 /dev/zero | tr '\0' x; echo; echo '{"zone":"UTC","from":1,"item":"@daily"}') | pointsman cron next --batch
| error: a line of more than 1 MiB
| 86400
# Simulated disturbances of the clocks.
$ pointsman cron simulate --zone America/Los_Angeles --from 2026-03-06T09:58:20-08:00 --max-shift 150s --step 'wait 10m' --step 'suspend 15m' --step 'suspend 1h, set -1h' --step 'set -2m' --step 'wait 5m' '*/5 * * * *'
| 2026-03-06T09:58:20-08:00  wait 10m
|   2026-03-06T10:00:00-08:00  fires
|   2026-03-06T10:05:00-08:00  fires
| 2026-03-06T10:08:20-08:00  suspend 15m
|   2026-03-06T10:10:00-08:00  is skipped, with all until 2026-03-06T10:20:49-08:00: 3 events
| 2026-03-06T10:23:20-08:00  suspend 1h, set -1h
|   the clock was changed by -3600 s
| 2026-03-06T10:23:20-08:00  set -2m
|   the clock was changed by -120 s
| 2026-03-06T10:21:20-08:00  wait 5m
|   2026-03-06T10:25:00-08:00  fires
$ printf '%s\n' '# three days' 'wait 3d' '' 'zone America/New_York' 'restart 1h' 'reboot 2m' 'set 2126-01-01T00:00:00Z' 'set 2026-03-09T12:00:00Z' 'wait 3h' | pointsman cron simulate --zone America/Los_Angeles --from 2026-03-06T09:58:20-08:00 '{"minute":30,"hour":[2,12],"dst_fixes":["unskip","repeat_use_only_early"],"max_shift_seconds_for_unskip_and_do_not_repeat":10800}'
| 2026-03-06T09:58:20-08:00  wait 3d
|   2026-03-06T12:30:00-08:00  fires
|   2026-03-07T02:30:00-08:00  fires
|   2026-03-07T12:30:00-08:00  fires
|   2026-03-08T01:59:59-08:00  fires
|   2026-03-08T12:30:00-07:00  fires
|   2026-03-09T02:30:00-07:00  fires
| 2026-03-09T10:58:20-07:00  zone America/New_York
|   the change of zone moved the local time by +10800 s
|   2026-03-09T12:30:00-04:00  fires: the change of zone skipped it
| 2026-03-09T13:58:20-04:00  restart 1h
| 2026-03-09T14:58:20-04:00  reboot 2m
| 2026-03-09T15:00:20-04:00  set 2126-01-01T00:00:00Z
|   the clock was changed by +3149816380 s
|   2026-03-10T02:30:00-04:00  is skipped, with all until 2125-12-31T15:59:59-05:00: 72912 events
| 2125-12-31T19:00:00-05:00  set 2026-03-09T12:00:00Z
|   the clock was changed by -3149841600 s
| 2026-03-09T08:00:00-04:00  wait 3h
$ pointsman cron simulate --zone UTC --from 0 --max-shift 5 --json --all --step 'suspend 3m' '* * * * *'
| {"step":1,"kind":"skipped","at":"1970-01-01T00:01:00+00:00","epoch":60,"until":60,"shift":120}
| {"step":1,"kind":"on_time","at":"1970-01-01T00:02:00+00:00","epoch":120,"until":120,"shift":60}
| {"step":1,"kind":"on_time","at":"1970-01-01T00:03:00+00:00","epoch":180,"until":180,"shift":0}
$ pointsman cron simulate --zone UTC --from 0 --step 'wait 1h' '@daily'
! pointsman: the item does not set max_shift_seconds_for_unskip_and_do_not_repeat; set it with --max-shift
= 64
$ pointsman cron simulate --zone UTC --from 0 --max-shift 5 --step 'wiat 1h' '@daily'
| 1970-01-01T00:00:00+00:00  wiat 1h
! pointsman: step 1: 'wiat' is not a step; did you mean 'wait'?
= 65
$ pointsman cron simulate --zone UTC --from 0 --max-shift 5 --step 'set -3000000d' '@daily'
| 1970-01-01T00:00:00+00:00  set -3000000d
! pointsman: step 1: expected a duration such as 90s, 15m, 2h or 7d, at most a century, not '3000000d'
= 65
$ echo '@daily' | pointsman cron simulate --zone UTC --from 0 --max-shift 5 -
! pointsman: standard input cannot hold both the item and the steps; give the steps with --step
= 64
