/* A real base in a directory of its own, and change sets put into it byte by
 * byte, for the tests of intake, projection and fsck. */
#ifndef POINTSMAN_TESTS_SUPPORT_SPOOL_H
#define POINTSMAN_TESTS_SUPPORT_SPOOL_H

#include "support/test.h"

#include "os/dir.h"
#include "base/base.h"
#include "changes/checker.h"
#include "changes/prequeue.h"
#include "changes/projection.h"

struct spool {
    char *path;
    struct base *base;
    struct checker *checker;
    struct projection *projection;
    struct prequeue *prequeue;
    struct wall now;  /* moved on by the test */
    struct wall next; /* what the last scan said */
};

/* Programs that use this begin main with it: the checker is this executable
 * under another name. */
#define SPOOL_MAIN(argc, argv)                                 \
    do {                                                       \
        if ((argc) > 1 && strcmp((argv)[1], "check-set") == 0) \
            return checker_main((argc)-1, (argv) + 1);         \
    } while (0)

void spool_begin(struct spool *spool); /* makes the base, opens it */
void spool_open(struct spool *spool);
void spool_close(struct spool *spool);
void spool_end(struct spool *spool); /* close, and free */
/* Like after a crash: closed, opened, recovered. */
void spool_restart(struct spool *spool);

/* "ID_@..._17_here_CLASS", valid until the 16th call from here. Times follow
 * each other second by second. */
const char *spool_name(const char *id, const char *set_class);
/* meta: class, target main, then `sections`; a file for each of `files`,
 * which are separated by blanks and also listed. */
void spool_tar(struct text *out, const char *set_class, const char *sections,
               const char *files);
/* By the file route: data/NAME and an empty marker. */
void spool_put(struct spool *spool, const char *name, struct span tar);
/* Puts a valid set with these files; returns its name. */
const char *spool_put_set(struct spool *spool, const char *id,
                          const char *set_class, const char *sections,
                          const char *files);
void spool_write(struct spool *spool, enum base_dir dir, const char *name,
                 struct span bytes);
/* Scans until nothing changes without time passing, then projects. */
void spool_scan(struct spool *spool);
/* Puts and scans. */
void spool_admit(struct spool *spool, const char *id, const char *files);

/* A step of its life, projected. */
void spool_step(struct spool *spool, const char *id, enum job_state to,
                const char *reason);
/* The same, not projected. */
void spool_step_only(struct spool *spool, const char *id, enum job_state to,
                     const char *reason);
void spool_record(struct spool *spool, const char *id, const char *precursor);
void spool_settle(struct spool *spool);

bool spool_has(struct spool *spool, enum base_dir dir, const char *name);
struct job spool_job(struct spool *spool, const char *id);
bool spool_knows(struct spool *spool, const char *id);
/* Bits of the state directories that hold the job file of the set. */
unsigned spool_dirs(struct spool *spool, const char *id);
/* Each known set lies in the directory of its state and nowhere else, its
 * job file is whole, and its log shows all its events. */
void spool_assert_projected(struct spool *spool);
/* Content of a file; valid until the 16th call from here. */
const char *spool_text(struct spool *spool, enum base_dir dir,
                       const char *name);
unsigned spool_count(struct spool *spool, enum base_dir dir);

#endif
