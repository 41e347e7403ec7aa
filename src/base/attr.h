/* Compiler attributes behind our own names: gcc 12 has no [[...]] in C17. */
#ifndef POINTSMAN_BASE_ATTR_H
#define POINTSMAN_BASE_ATTR_H

#define PRINTF_LIKE(string, first) \
    __attribute__((format(printf, string, first)))
#define NODISCARD __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

/* CLEANUP(f) type variable: f(&variable) when the scope ends. */
#define CLEANUP(f) __attribute__((cleanup(f)))

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
