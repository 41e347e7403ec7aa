/* Compiler attributes under our own names: gcc 12 has no [[...]] in C17. */
#ifndef POINTSMAN_LIB_ATTR_H
#define POINTSMAN_LIB_ATTR_H

#define PRINTF_LIKE(string, first) \
    __attribute__((format(printf, string, first)))
#define NODISCARD __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

/* CLEANUP(f) type variable: f(&variable) when the scope ends. */
#define CLEANUP(f) __attribute__((cleanup(f)))

/* 1 under the address sanitizer, which maps terabytes: set no limit on memory.
 */
#if defined __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
