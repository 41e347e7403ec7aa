/* Objects apart: what a landing or a rollback stores before its branch moves.
 *
 * They lie in a directory of its own below the attempt's work directory, and
 * git reads them together with those of the repository. So nothing is written
 * into the repository before the landing, and no `git gc` there can remove
 * them. Publishing copies them to the repository: first under temporary names,
 * then one syncfs, then they get their names. After a power cut an object has
 * its whole content or no name (doc/design/landing.md, L7).
 *
 * Small objects are written here, without starting git, and not compressed: git
 * does that when it packs them. They are held in memory until another git
 * process has to read them, and often get no file but that in the repository.
 * Errors: ERR_UNAVAILABLE if the repository cannot be written, else as
 * err_errno. */
#ifndef POINTSMAN_LANDING_OBJECTS_APART_H
#define POINTSMAN_LANDING_OBJECTS_APART_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"
#include "landing/git.h"

/* Creates WORK/NAME and calls git_objects_apart, once. From here on, small
 * objects are held in memory; after git_objects_apart alone, each gets its file
 * at once.
 */
bool objects_apart_open(struct git *git, const char *name, struct err *err);

/* Stores an object of this type; the content is without git's header. */
bool objects_apart_write(struct git *git, const char *type, struct span content,
                         char ret_oid[OID_BYTES], struct err *err);

/* Only finds out its name. */
bool objects_apart_name(struct git *git, const char *type, struct span content,
                        char ret_oid[OID_BYTES], struct err *err);

/* Writes the objects that are held in memory to files; every start of git does
 * that (GIT_BLIND: does not). */
bool objects_apart_flush(struct git *git, struct err *err);

/* True if objects can be published as far as permissions tell. */
bool objects_apart_may_publish(const struct git *git, struct err *err);
/* Copies the objects to the repository. When this returns true, they and
 * everything written to that file system before are on the disk. */
bool objects_apart_publish(struct git *git, struct err *err);

#endif
