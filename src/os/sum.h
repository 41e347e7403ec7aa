/* SHA-256, as 64 lower-case hex digits and a NUL. */
#ifndef POINTSMAN_OS_SUM_H
#define POINTSMAN_OS_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"

enum { SUM_BYTES = 32, SUM_TEXT_BYTES = 65 };

void sum_bytes(struct span bytes, char ret[SUM_TEXT_BYTES]);

/* The fingerprint of an SSH key, of which these are the bytes: "SHA256:" and 43
 * digits of base64, as ssh-keygen prints it. */
enum { SUM_SSH_KEY_BYTES = 51 };
void sum_ssh_blob(struct span key, char ret[SUM_SSH_KEY_BYTES]);
/* The same from their SHA-256 (SUM_BYTES). */
void sum_ssh_digest(const unsigned char *digest, char ret[SUM_SSH_KEY_BYTES]);
/* Appends what the base64 stands for; white space in it is skipped. False: it
 * is none; nothing is appended. */
bool sum_base64(struct span base64, struct text *out);

/* The sum of a stream; sum_end frees it. */
struct sum;
struct sum *sum_new(void);
void sum_add(struct sum *sum, struct span bytes);
void sum_end(struct sum *sum, char ret[SUM_TEXT_BYTES]);

/* Sums the file from its beginning; the offset is not moved. */
bool sum_file(int fd, char ret[SUM_TEXT_BYTES], uint64_t *ret_bytes,
              struct err *err);

/* "j" + base32 of ten bytes: a generated id (C1 in doc/design/). */
enum { ID_TEXT_BYTES = 18 };
void sum_format_id(const unsigned char ten[10], char ret[ID_TEXT_BYTES]);

#endif
