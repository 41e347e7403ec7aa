/* The steps that make a registry, oldest first: src/store/schema/NNN.sql,
 * embedded when the program is built. Step N leads from version N - 1 to N. */
#ifndef POINTSMAN_STORE_SCHEMA_H
#define POINTSMAN_STORE_SCHEMA_H

extern const char *const schema_steps[];
extern const int schema_version; /* how many steps there are */

#endif
