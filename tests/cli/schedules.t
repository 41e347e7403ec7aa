# A command that runs on a schedule; no server runs yet.
$ pointsman -q init
$ pointsman cron add --zone Europe/London nightly '30 2 * * *' -- echo good night
$ pointsman cron list
| NAME     NEXT ...
| nightly  ...T02:30:00+... 30 2 * * * Europe/London  echo good night
$ pointsman history | tail -1
| <time> nightly schedule added <who>: 30 2 * * *: echo good night
# The same schedule can be added again; a different one of this name cannot.
$ pointsman cron add --zone Europe/London nightly '30 2 * * *' -- echo good night
$ pointsman cron add nightly '* * * * *' -- true
! pointsman: schedule 'nightly' exists already, with another pattern, command or option; `pointsman cron list nightly` shows it, --replace replaces it
= 100
$ pointsman cron add --replace --zone Europe/London --paused nightly '30 2 * * *' -- echo good night
$ pointsman cron list | tail -1
| nightly  paused ... echo good night
# A schedule is explained like its pattern.
$ pointsman cron explain nightly | sed 's/\. When clocks.*//'
| schedule nightly, in the time of Europe/London
| {"minute": 30, "hour": 2, ...}
| at 02:30 every day
$ pointsman cron explain nigthly
! pointsman: no schedule 'nigthly'; an item is JSON or the five columns of a crontab line
= 66
$ pointsman cron remove nightly
$ pointsman cron list
# The clock was set back by 30 minutes: what it shows again has fired already.
$ pointsman cron add --max-shift 1h minutely '* * * * *' -- true
$ python3 -c 'import sqlite3; base = sqlite3.connect(".pointsman/ctrl/registry.db"); base.execute("UPDATE schedule SET high = high + 1800"); base.commit()'
$ pointsman cron list --json | jq -r '(.next[0:19]+"Z"|fromdate) - now | . > 1700 and . < 1900'
| true
$ pointsman cron remove minutely
# Invalid schedules.
$ pointsman cron add nightly '{"minute": 0, "dst_fixes": ["skip", "repeat_use_both"]}' -- true
! pointsman: the item of a schedule must say how many seconds late it may fire; write {"max_shift_seconds_for_unskip_and_do_not_repeat": 3600, "minute": 0, "dst_fixes": ["skip", "repeat_use_both"]}
= 65
$ pointsman cron add 'ni ght' '* * * * *' -- true
! pointsman: 'ni ght' is not a valid name for a schedule: a letter or digit, then letters, digits and '-', 40 at most
= 65
$ pointsman cron add --zone Europe/Lodon n '* * * * *' -- true
! pointsman: ...
= 65
$ pointsman cron add --overlap never n '* * * * *' -- true
! pointsman: '--overlap' must be forbid, allow, replace or queue, not 'never'
= 64
$ pointsman cron add n '61 * * * *' -- true
! pointsman: ...
= 65
$ pointsman cron add n '* * * * *'
! pointsman: 'cron add' needs a name, an item and a command, such as: pointsman cron add nightly '30 2 * * *' -- make nightly
= 64
# Options come first; behind the item, they would be part of the command.
$ pointsman cron add n '* * * * *' --zone Europe/London -- true
! pointsman: '--zone' is behind the name: options come first, as in 'pointsman cron add --paused NAME ITEM -- COMMAND'; if it is the command, write -- before it
= 64
$ pointsman cron add n --zone Europe/London '* * * * *' -- true
! pointsman: '--zone' is behind the name: ...
= 64
$ pointsman cron list n
! pointsman: no schedule 'n'
= 66
$ pointsman cron add --at-most-once once '0 0 1 1 *' -- --not-an-option
$ pointsman cron list --json once | grep -o -e '"command":[^]]*]' -e '"at_most_once":true'
| "command":["--not-an-option"]
| "at_most_once":true
$ pointsman cron remove once
$ pointsman cron run nihgtly
! pointsman: no schedule 'nihgtly'
= 66
# Three missed instants of the year 2001 are later than --max-shift allows: they
# are reported (left_out) and never fire.
$ pointsman cron add --since 2001-01-01T00:00:00Z --max-shift 365d --overlap allow late '{"epoch": {"start": 978307210, "end": 978307230, "period": 10}}' -- echo once
$ pointsman cron list --json late | tr , '\n' | grep -e '"next"' -e fired
| "next":null
| "fired":0
$ pointsman daemon all --until-idle
$ pointsman cron list --json late | tr , '\n' | grep -e fired -e left_out
| "fired":0
| "left_out":3
# doctor reports a schedule that never fires again.
$ pointsman doctor | grep schedule
| warn schedule       late never fires again; see `pointsman cron check` and `cron list`
! pointsman: the base has problems, see above
$ pointsman cron remove late
# Instants missed within --max-shift fire late. The first was 3 minutes ago.
$ date -u -d '-3 min' +%Y-%m-%dT%H:%M:30Z >then
$ pointsman cron add --since "$(cat then)" --max-shift 1h --overlap allow makeup '* * * * *' -- echo made up
$ pointsman daemon all --until-idle
$ pointsman list --all --json | grep -c '"id":"makeup\.[0-9TZ]*"' >fired; test "$(cat fired)" -ge 2
$ pointsman daemon all --until-idle
$ pointsman cron pause makeup
$ pointsman list --all --json | sed 's/.*"id":"\(makeup[^"]*\)".*/\1/' | sort | uniq -d
$ pointsman logs $(pointsman list --all --json | sed -n 's/.*"id":"\(makeup[^"]*\)".*/\1/p' | head -1)
| made up
# missed = skip only reports the missed instants.
$ pointsman cron add --since "$(cat then)" --max-shift 1h --missed skip told '* * * * *' -- echo never
$ pointsman daemon clock --once
$ pointsman cron pause told
$ pointsman cron list --json told | grep -c '"fired":0'
| 1
$ pointsman events --json | grep '"reason":"skip"' | grep -c 'no server was running, and missed = skip'
| 1
# A job started by hand, and its origin.
$ pointsman cron add hand '0 0 1 1 *' -- echo by hand
$ pointsman cron run hand
| j<ID>
$ pointsman daemon all --until-idle
$ pointsman why j<ID>
| j<ID>: done since ...
| j<ID>: made by schedule hand, run by hand
$ pointsman status j<ID> | grep '^submitted '
| submitted   by ... (schedule hand, run by hand)
$ pointsman cron list --json hand | tr , '\n' | grep '"last"'
| "last":"D"}
# A base may be moved, with the project that it belongs to.
$ mkdir -p moved/sub
$ pointsman -q init moved/.pointsman
$ printf '[schedule "of-base"]\nitem = 0 0 1 1 *\nrun = pwd\n' >>moved/.pointsman/pointsman.conf
$ cd moved/sub && pointsman cron add here '0 0 1 1 *' -- pwd
$ cd moved && pointsman daemon all --until-idle
$ mv moved again
$ cd again && pointsman cron run here of-base >../ids
$ cd again && pointsman daemon all --until-idle
$ cd again && for id in $(cat ../ids); do pointsman logs $id; done | sed "s|^$PWD/||"
| sub
| .pointsman
# A backup contains the schedules.
$ pointsman backup saved.tar
$ pointsman --base other restore saved.tar
$ pointsman --base other cron list hand | tail -1
| hand  restored  20...T...+00:00 done  ... 0 0 1 1 *  echo by hand
# A server uses a new schedule at once.
& pointsman serve --listen off until .pointsman/ctrl/sock
$ pointsman cron add --max-shift 1m tick '{"epoch": {"period": 1}}' -- true
$ until pointsman list --all --json | grep -q '"id":"tick\..*"state":"done"'; do :; done
$ pointsman cron pause tick
$ pointsman list --all --json | grep '"id":"tick\.' | sed 's/.*"id":"\([^"]*\)".*/\1/' | sort | uniq -d
$ pointsman history $(pointsman list --all --json | sed -n 's/.*"id":"\(tick[^"]*\)".*/\1/p' | head -1) | head -1
| ... admitted schedule:tick: schedule tick at ...
# The previous job has not ended.
$ pointsman cron add --max-shift 1m slow '{"epoch": {"period": 1}}' -- sleep 1000
$ until pointsman events --json | grep '"id":"slow"' | grep -q '"reason":"overlap"'; do :; done
$ pointsman cron pause slow
$ pointsman list --json | grep -c '"id":"slow\.'
| 1
$ pointsman cancel $(pointsman list --json | sed -n 's/.*"id":"\(slow[^"]*\)".*/\1/p')
$ pointsman cron add --max-shift 1m --overlap replace again '{"epoch": {"period": 1}}' -- sleep 1000
$ until pointsman list --all --json | grep '"id":"again\.' | grep -q '"state":"terminated"'; do :; done
$ pointsman cron pause again
$ pointsman cancel --match 'again' --yes >counted
# Schedules in the configuration.
$ printf '[schedule "conf"]\nitem = 0 4 * * 7\nzone = Asia/Tokyo\nrun = echo from the file\n' >>.pointsman/pointsman.conf
$ pointsman -q config check | grep -A3 schedule
| [schedule "conf"]
| item = 0 4 * * 7 ...
| zone = Asia/Tokyo ...
| run = echo from the file ...
$ kill -HUP $(head -1 .pointsman/ctrl/serve.pid)
$ until pointsman cron list conf | grep -q Tokyo; do :; done
$ pointsman cron run conf
| j<CONF>
$ pointsman wait j<CONF>
$ pointsman logs j<CONF>
| from the file
$ pointsman cron remove conf
! pointsman: schedule 'conf' is defined in ...:...; change it there
= 100
$ pointsman doctor | grep schedule
| ok   schedules ...; all have a next run
$ printf 'at-most-once = yes\n' >>.pointsman/pointsman.conf
$ kill -HUP $(head -1 .pointsman/ctrl/serve.pid)
$ until pointsman cron list --json conf | grep -q '"at_most_once":true'; do :; done
$ mkdir -p .pointsman/conf.d
$ printf '[schedule "wrong"]\nrun = true\nitem = 61 * * * *\n' >.pointsman/conf.d/wrong.conf
$ pointsman config check >shown
! pointsman: conf.d/wrong.conf:3: schedule 'wrong': minute must be from 0 to 59, not 61
= 78
$ rm .pointsman/conf.d/wrong.conf
$ printf 'overlap = sometimes\n' >>.pointsman/pointsman.conf
$ pointsman config check
! pointsman: pointsman.conf:...: overlap = 'sometimes' is not one of forbid|allow|replace|queue
= 78
