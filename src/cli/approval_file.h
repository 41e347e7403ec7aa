/* An approval as a person has it: its text, and the text with a signature
 * under it (wire/approval_text.h). */
#ifndef POINTSMAN_CLI_APPROVAL_FILE_H
#define POINTSMAN_CLI_APPROVAL_FILE_H

#include "lib/err.h"
#include "lib/text.h"
#include "cli/client.h"
#include "cli/call.h"

/* What --as, --ticket and --expires say, about the set `id`. */
bool approval_file_of_set(struct call *call, struct client *client,
                          const char *id, struct text *out, struct err *err);
/* The same about a tarball that was not handed in yet. Its file, or `change
 * pack`, has to say its name. */
bool approval_file_of_tarball(struct call *call, const char *file,
                              struct text *out, struct err *err);
/* Appends the signature under `paper` that ssh-keygen makes with this key; it
 * may ask for a passphrase. */
bool approval_file_sign(struct text *approval, const char *key,
                        struct err *err);
/* A file with text and signature; or X.sig with a signature alone, as
 * ssh-keygen writes it, with the text in X. */
bool approval_file_read(const char *file, struct text *out, struct err *err);
/* {"signed": ...}, for the API. */
void approval_file_body(struct span approval, struct text *out);

#endif
