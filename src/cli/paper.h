/* An approval as a person has it: its text, and the text with a signature
 * under it (wire/approval_text.h). */
#ifndef POINTSMAN_CLI_PAPER_H
#define POINTSMAN_CLI_PAPER_H

#include "lib/err.h"
#include "lib/text.h"
#include "cli/client.h"
#include "cli/command.h"

/* What --as, --ticket and --expires say, about the set `id`. */
bool paper_of_set(struct call *call, struct client *client, const char *id,
                  struct text *out, struct err *err);
/* The same about a tarball that was not handed in yet. Its file, or `change
 * pack`, has to say its name. */
bool paper_of_tarball(struct call *call, const char *file, struct text *out,
                      struct err *err);
/* Appends the signature under `paper` that ssh-keygen makes with this key; it
 * may ask for a passphrase. */
bool paper_sign(struct text *paper, const char *key, struct err *err);
/* A file with text and signature; or X.sig with a signature alone, as
 * ssh-keygen writes it, with the text in X. */
bool paper_read(const char *file, struct text *out, struct err *err);
/* {"signed": ...}, for the API. */
void paper_body(struct span paper, struct text *out);

#endif
