/* Memory allocation that never fails. Running out of memory ends the process
 * (one line on stderr): no caller could do anything better. Free with free().
 */
#ifndef POINTSMAN_LIB_MEM_H
#define POINTSMAN_LIB_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes); /* zeroed */
/* realloc() to count * each bytes; new bytes are not zeroed. `old` is invalid
 * afterwards and may be NULL. */
void *mem_grow(void *old, size_t count, size_t each);
char *mem_copy(const void *p, size_t bytes); /* NUL-terminated */
char *mem_string(const char *string);        /* NULL stays NULL */

#endif
