# A crontab becomes schedules. This is Debian's /etc/crontab.
$ pointsman -q init
$ printf 'SHELL=/bin/sh\nPATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n\n# m h dom mon dow user  command\n17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }\n52 6\t1 * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }\n#\n' >crontab
$ pointsman cron import --dry-run --system --zone UTC --from 2026-03-02T10:00:00Z crontab | cut -f 1,2 | tr '\t' ' '
| crontab-cd-<hash> 2026-03-02T10:17:00+00:00
| crontab-test-<hash> 2026-03-03T06:25:00+00:00
| crontab-test-<hash> 2026-03-08T06:47:00+00:00
| crontab-test-<hash> 2026-04-01T06:52:00+00:00
$ pointsman cron list
# Examples from manuals: crontab(5) of Vixie cron, POSIX, AIX, and others.
$ printf '%s\n' '5 0 * * *       $HOME/bin/daily.job >> $HOME/tmp/out 2>&1' >>lines
$ printf '%s\n' '15 14 1 * *     $HOME/bin/monthly' >>lines
$ printf '%s\n' '0 22 * * 1-5    mail -s "10pm" joe%Joe,%%Where are your kids?%' >>lines
$ printf '%s\n' '23 0-23/2 * * * echo "run 23 minutes after midn, 2am, 4am ..., everyday"' >>lines
$ printf '%s\n' '5 4 * * sun     echo "run at 5 after 4 every Sunday"' >>lines
$ printf '%s\n' '0 */4 1 * mon   echo "run every 4th hour on the 1st and on every Monday"' >>lines
$ printf '%s\n' '0 0 */2 * sun   echo "run at midn on every Sunday that is an uneven date"' >>lines
$ printf '%s\n' '0 4 8-14 * *    test $(date +\%u) -eq 6 && echo "2nd Saturday"' >>lines
$ printf '%s\n' '1 0 * * *       printf "" > /var/log/apache/error_log' >>lines
$ printf '%s\n' '45 23 * * 6     /home/oracle/scripts/export_dump.sh' >>lines
$ printf '%s\n' '*/5 1,2,3 * * * echo hello world' >>lines
$ printf '%s\n' '0 16 * * 5      calendar -' >>lines
$ printf '%s\n' '0 0 1,15 * 1    every-monday-and-the-first-and-fifteenth' >>lines
$ printf '%s\n' '0 0 1,15 * *    only-the-days-of-the-month' >>lines
$ printf '%s\n' '15 3 * * 1-5    find "$HOME" -name core -exec rm -f {} + 2>/dev/null' >>lines
$ printf '%s\n' '0 12 14 2 *     mailx john%Happy Birthday!%Time for lunch.' >>lines
$ printf '%s\n' '@hourly         x' >>lines
$ printf '%s\n' '@daily          x' >>lines
$ printf '%s\n' '@weekly         x' >>lines
$ printf '%s\n' '@monthly        x' >>lines
$ printf '%s\n' '@yearly         x' >>lines
$ printf '%s\n' '* * * * *       x' >>lines
$ pointsman cron import --dry-run --zone UTC --from 2026-03-02T10:00:00Z lines | cut -f 2
| 2026-03-03T00:05:00+00:00
| 2026-04-01T14:15:00+00:00
| 2026-03-02T22:00:00+00:00
| 2026-03-02T10:23:00+00:00
| 2026-03-08T04:05:00+00:00
| 2026-03-02T12:00:00+00:00
| 2026-03-15T00:00:00+00:00
| 2026-03-08T04:00:00+00:00
| 2026-03-03T00:01:00+00:00
| 2026-03-07T23:45:00+00:00
| 2026-03-03T01:00:00+00:00
| 2026-03-06T16:00:00+00:00
| 2026-03-09T00:00:00+00:00
| 2026-03-15T00:00:00+00:00
| 2026-03-03T03:15:00+00:00
| 2027-02-14T12:00:00+00:00
| 2026-03-02T11:00:00+00:00
| 2026-03-03T00:00:00+00:00
| 2026-03-08T00:00:00+00:00
| 2026-04-01T00:00:00+00:00
| 2027-01-01T00:00:00+00:00
| 2026-03-02T10:01:00+00:00
# The commands run in a shell, with the variables and the input of the crontab.
$ printf '%s\n' 'GREETING = "good day"' 'CRON_TZ=Asia/Tokyo' '0 0 1 1 * echo "$GREETING"; cat >got; echo 100\%%one%two' >mine
$ sed -i "1iHOME = $PWD" mine
$ pointsman cron import --prefix my mine | cut -f 1,3 | tr '\t' ' '
| my-echo-<NAME> 0 0 1 1 *
! now remove the crontab, or cron runs the commands as well: crontab -r
$ pointsman cron list my-echo-<NAME> | grep -o 'T00:00:00+09:00'
| T00:00:00+09:00
$ pointsman cron run my-echo-<NAME>
| j<ID>
$ pointsman daemon all --until-idle
$ pointsman logs j<ID>
| good day
| 100%
$ cat got
| one
| two
# Everything that the base knows about a schedule.
$ pointsman cron list --json my-echo-<NAME> | tr '{,' '\n\n' | grep -e '"import"' -e '"at_most_once"' -e '"GREETING"' -e '"round"' -e '"max_shift_s"'
| "max_shift_s":10800
| "import":"my"
| "GREETING":"good day"
| "at_most_once":true
| "round":0
# The environment is that of crontab(5); LOGNAME and USER cannot be set.
$ printf '%s\n' 'USER=else' 'LOGNAME=else' 'MAILTO=joe@example.org' 'RANDOM_DELAY=30' '0 0 1 1 * env' >environment
$ pointsman -q cron import --at-least-once environment | cut -f 1 >name
$ pointsman cron run $(cat name) >id
$ pointsman daemon all --until-idle
$ test "$(pointsman logs $(cat id) | grep -E '^(SHELL|PATH|HOME|LOGNAME|USER)=' | sort)" = "$(printf '%s\n' HOME=$(getent passwd $(id -u) | cut -d: -f6) LOGNAME=$(id -un) PATH=/usr/bin:/bin SHELL=/bin/sh USER=$(id -un))"
$ pointsman logs $(cat id) | grep -e LANG -e POINTSMAN_BASE
= 1
$ pointsman cron list --json $(cat name) | tr , '\n' | grep -e at_most_once -e jitter
| "jitter_s":1800
# What Pointsman does differently is reported.
$ pointsman cron import --replace environment | cut -f 3
| 0 0 1 1 *
! environment:1: USER is ignored, as by cron: it is the account that the command runs as
! environment:2: LOGNAME is ignored, as by cron: it is the account that the command runs as
! environment:3: MAILTO: nothing is mailed to joe@example.org; `pointsman logs` shows the output of each run
! environment:4: RANDOM_DELAY: the next schedules fire up to 30 minutes later, by another delay each time
! now remove the crontab, or cron runs the commands as well: crontab -r
$ printf '0 0 1 1 * no-such-user true\n' >users
$ pointsman cron import --system users
! pointsman: users:1: there is no user 'no-such-user' on this machine
= 65
# A line that is inserted changes no name; a line that occurs twice is two
# schedules; --replace removes what is gone.
$ printf '%s\n' '5 4 * * * backup one' '6 4 * * * backup one' '5 4 * * * backup one' >tab
$ pointsman -q cron import tab | cut -f 1 | tee names
| tab-backup-<ONE>
| tab-backup-<TWO>
| tab-backup-<ONE>-2
$ sed -i '1i7 4 * * * backup one' tab
$ pointsman -q cron import tab | cut -f 1 | tail -3 | cmp - names
$ sed -i '2,3d' tab
$ pointsman cron import tab | cut -f 1
| tab-backup-<THREE>
| tab-backup-<ONE>
! tab-backup-<gone>: from an earlier import with the prefix 'tab', and not in tab
! tab-backup-<gone>: from an earlier import with the prefix 'tab', and not in tab
! repeat the import with --replace if they are to be removed; --prefix keeps several crontabs apart
! now remove the crontab, or cron runs the commands as well: crontab -r
$ pointsman cron import --replace tab | cut -f 1
| tab-backup-<THREE>
| tab-backup-<ONE>
! tab-backup-<gone>: removed; it is no longer in tab
! tab-backup-<gone>: removed; it is no longer in tab
! now remove the crontab, or cron runs the commands as well: crontab -r
$ pointsman cron list | grep -c tab-backup
| 2
# Invalid lines are reported with one position; the others are added, and
# nothing is removed.
$ printf '0 0 1 1 * true\n61 * * * * true\n@reboot true\n0 0 1 1 *\n30 6 * * * true\n0 0 30 2 * never\n' >wrong
$ pointsman cron import wrong | cut -f 1
| wrong-true-<hash>
| wrong-true-<hash>
! pointsman: wrong:2:1: minute must be from 0 to 59, not 61
! pointsman: wrong:3:1: @reboot is not supported; use a systemd unit
! pointsman: wrong:4: the command is missing
! pointsman: wrong:6:5: never fires: none of the selected months has such a day
! now remove the crontab, or cron runs the commands as well: crontab -r
$ sed -i 1d wrong
$ pointsman cron import --replace wrong | cut -f 1
| wrong-true-<hash>
! pointsman: wrong:1:1: ...
! pointsman: wrong:2:1: ...
! pointsman: wrong:3: ...
! pointsman: wrong:5:5: ...
! nothing was removed because of the errors
! now remove the crontab, or cron runs the commands as well: crontab -r
$ pointsman cron import wrong | cut -f 1
| wrong-true-<hash>
! pointsman: wrong:1:1: ...
! pointsman: wrong:2:1: ...
! pointsman: wrong:3: ...
! pointsman: wrong:5:5: ...
! now remove the crontab, or cron runs the commands as well: crontab -r
$ pointsman -q cron import wrong
= 65
$ pointsman cron import none
! pointsman: cannot open 'none': ...
= 73
