/* The files of an approval that a person handles: its text, and the text
 * with a signature below it (wire/approval_text.h). */
#ifndef POINTSMAN_CLI_APPROVAL_FILE_H
#define POINTSMAN_CLI_APPROVAL_FILE_H

#include "lib/err.h"
#include "lib/text.h"
#include "cli/client.h"
#include "cli/call.h"

/* The approval of the set `id`, with the values of --as, --ticket and
 * --expires. */
bool approval_file_of_set(struct call *call, struct client *client,
                          const char *id, struct text *out, struct err *err);
/* The same for a tarball that was not submitted yet. Its file name, or
 * `change pack`, must give the set's name. */
bool approval_file_of_tarball(struct call *call, const char *file,
                              struct text *out, struct err *err);
/* Appends the signature of `paper` that ssh-keygen makes with this key; it
 * may ask for a passphrase. */
bool approval_file_sign(struct text *approval, const char *key,
                        struct err *err);
/* Reads a file with text and signature; or X.sig with only a signature, as
 * ssh-keygen writes it, and the text in X. */
bool approval_file_read(const char *file, struct text *out, struct err *err);
/* {"signed": ...}, for the API. */
void approval_file_body(struct span approval, struct text *out);

#endif
