/* For the tests of intake, projection and fsck: a real base in a directory of
 * its own, and change sets whose bytes the test controls. */
#ifndef POINTSMAN_TESTS_SUPPORT_SPOOL_H
#define POINTSMAN_TESTS_SUPPORT_SPOOL_H

#include "support/test.h"

#include "os/dir.h"
#include "base/base.h"
#include "maintenance/fsck.h"
#include "changes/checker.h"
#include "changes/prequeue.h"
#include "changes/projection.h"

struct spool {
    char *path;
    struct base *base;
    struct checker *checker;
    struct projection *projection;
    struct prequeue *prequeue;
    struct wall now;  /* set by the test */
    struct wall next; /* when the next scan is due, from the last scan */
};

/* A program that uses this header begins main() with SPOOL_MAIN, because the
 * checker is the same executable, started again with `check-set`. */
#define SPOOL_MAIN(argc, argv)                                 \
    do {                                                       \
        if ((argc) > 1 && strcmp((argv)[1], "check-set") == 0) \
            return checker_main((argc)-1, (argv) + 1);         \
    } while (0)

void spool_begin(struct spool *spool); /* creates the base and opens it */
void spool_open(struct spool *spool);
void spool_close(struct spool *spool);
void spool_end(struct spool *spool); /* closes and frees */
/* Runs fsck. The sets of a spool land only in the registry, so the branches of
 * its targets are not checked. */
void spool_check(struct spool *spool, struct fsck_report *report);
/* Closes the base, opens it again, and recovers as after a crash. */
void spool_restart(struct spool *spool);

/* Returns "ID_@..._17_here_CLASS", valid for the next 15 calls. Each call uses
 * the next second. */
const char *spool_name(const char *id, const char *set_class);
/* Writes a tarball: meta with the class, target main, the files and `sections`,
 * and a member for each of `files`, which are separated by blanks. */
void spool_tar(struct text *out, const char *set_class, const char *sections,
               const char *files);
/* Puts a set into the drop directories: data/NAME and an empty marker. */
void spool_put(struct spool *spool, const char *name, struct span tar);
/* Puts a valid set with these files; returns its name. */
const char *spool_put_set(struct spool *spool, const char *id,
                          const char *set_class, const char *sections,
                          const char *files);
void spool_write(struct spool *spool, enum base_dir dir, const char *name,
                 struct span bytes);
/* Scans until no further scan is due, then projects. */
void spool_scan(struct spool *spool);
/* Puts a set with these files and scans. */
void spool_admit(struct spool *spool, const char *id, const char *files);

/* Moves the set to a state and projects. */
void spool_step(struct spool *spool, const char *id, enum job_state to,
                const char *reason);
/* The same without projecting. */
void spool_step_only(struct spool *spool, const char *id, enum job_state to,
                     const char *reason);
void spool_record(struct spool *spool, const char *id, const char *precursor);
void spool_run_until_idle(struct spool *spool);

bool spool_has(struct spool *spool, enum base_dir dir, const char *name);
struct job spool_job(struct spool *spool, const char *id);
bool spool_knows(struct spool *spool, const char *id);
/* Bits of the state directories that hold the job file of the set. */
unsigned spool_dirs(struct spool *spool, const char *id);
/* Asserts that the job file of each set is in the directory of its state and
 * nowhere else and is complete, and that its log shows all its events. */
void spool_assert_projected(struct spool *spool);
/* Returns the content of a file, valid for the next 15 calls. */
const char *spool_text(struct spool *spool, enum base_dir dir,
                       const char *name);
unsigned spool_count(struct spool *spool, enum base_dir dir);

#endif
