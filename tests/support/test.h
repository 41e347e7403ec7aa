/* Included by every unit test: cmocka, and a directory to write to. */
#ifndef POINTSMAN_TESTS_SUPPORT_TEST_H
#define POINTSMAN_TESTS_SUPPORT_TEST_H

/* cmocka.h requires these headers before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a new directory under $TMPDIR (or /tmp), the same one during the
 * whole program. It is removed with its content when the program ends. */
char *test_dir(void);

/* Ends this test as skipped; the report shows `reason`, which is one line. */
void test_skip(const char *reason) __attribute__((noreturn));

/* Returns the distance between two points of a sweep: `usual` in an ordinary
 * run, 1 with POINTSMAN_SWEEP=full, several times `usual` with
 * POINTSMAN_SWEEP=once (tests/support/points.sh). */
unsigned test_sweep_stride(unsigned usual);
/* Returns the number of random cases that a test tries: `usual`, or a fifth of
 * it with POINTSMAN_SWEEP=once. */
unsigned test_cases(unsigned usual);

#endif
