/* Memory that never fails. Running out of it ends the process (one line on
 * stderr): no caller of ours could do anything better. Free with free(). */
#ifndef POINTSMAN_LIB_MEM_H
#define POINTSMAN_LIB_MEM_H

#include <stddef.h>

void *mem_alloc(size_t bytes); /* zeroed */
void *mem_grow(void *old, size_t count, size_t each);
char *mem_copy(const void *p, size_t bytes); /* with a NUL behind */
char *mem_string(const char *string);        /* NULL stays NULL */

#endif
