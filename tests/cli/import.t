# A crontab becomes schedules. This is Debian's /etc/crontab.
$ pointsman -q init
$ printf 'SHELL=/bin/sh\nPATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n\n# m h dom mon dow user  command\n17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }\n47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }\n52 6\t1 * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }\n#\n' >crontab
$ pointsman cron import --dry-run --system --zone UTC --from 2026-03-02T10:00:00Z crontab | cut -f 1,2 | tr '\t' ' '
| crontab-cd 2026-03-02T10:17:00+00:00
| crontab-test 2026-03-03T06:25:00+00:00
| crontab-test-2 2026-03-08T06:47:00+00:00
| crontab-test-3 2026-04-01T06:52:00+00:00
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
$ HOME="$PWD" pointsman cron import --prefix my mine | cut -f 1,3 | tr '\t' ' '
| my-echo 0 0 1 1 *
$ pointsman cron list my-echo | grep -o 'T00:00:00+09:00'
| T00:00:00+09:00
$ pointsman cron run my-echo
| j<ID>
$ pointsman daemon all --until-idle
$ pointsman logs j<ID>
| good day
| 100%
$ cat got
| one
| two
# Invalid lines are reported; the others are added.
$ printf '0 0 1 1 * true\n61 * * * * true\n@reboot true\n0 0 1 1 *\n30 6 * * * true\n' >wrong
$ pointsman cron import wrong | cut -f 1
| wrong-true
| wrong-true-2
! pointsman: wrong:2: ...
! pointsman: wrong:3: ...
! pointsman: wrong:4: the command is missing
$ pointsman cron import wrong
= 65
$ pointsman cron import none
! pointsman: cannot open 'none': ...
= 73
