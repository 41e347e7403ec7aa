/* The command of a crontab line as a job with the surroundings that crontab(5)
 * describes: a shell, the variables above the line, SHELL, PATH, HOME, LOGNAME
 * and USER, the home as the directory, the text after the first % as input. */
#ifndef POINTSMAN_CLI_CRONTAB_JOB_H
#define POINTSMAN_CLI_CRONTAB_JOB_H

#include "lib/err.h"
#include "lib/map.h"
#include "wire/submission.h"

/* What is known when a line is reached. */
struct crontab_settings {
    bool users; /* lines have a column for the account */
    struct submission_env *env;
    size_t count;
    struct arena arena;  /* of the settings and accounts */
    struct map accounts; /* by name */
    struct span owner;   /* without a column: whose crontab it is */
};

/* ERR_CANNOT: this process has no account. */
bool crontab_settings_init(struct crontab_settings *settings, bool users,
                           struct err *err);
void crontab_settings_clear(struct crontab_settings *settings);
/* NAME = value; the last one counts. */
void crontab_settings_take(struct crontab_settings *settings, struct span line,
                           struct span *ret_name, struct span *ret_value);
/* len 0: it is not set, or empty. */
struct span crontab_settings_find(const struct crontab_settings *settings,
                                  const char *name);

/* `rest`: the line without its times. The results lie in the arena, in the
 * settings, or in `rest`; *ret_command is without the user. ERR_DATA: no
 * command, or an unknown user. */
bool crontab_job_make(struct crontab_settings *settings, struct span rest,
                      struct arena *arena, struct submission *ret_job,
                      struct span *ret_command, struct err *err);

#endif
