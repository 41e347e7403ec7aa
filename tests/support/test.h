/* Included by every unit test: cmocka, and a directory to write to. */
#ifndef POINTSMAN_TESTS_SUPPORT_TEST_H
#define POINTSMAN_TESTS_SUPPORT_TEST_H

/* cmocka.h wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fresh directory under $TMPDIR (else /tmp), the same one for the whole
 * program; it is removed with all its content when the program ends. */
char *test_dir(void);

/* Ends this test as skipped; `reason` is one line that the report shows. */
void test_skip(const char *reason) __attribute__((noreturn));

/* The distance between two points of a sweep for which `usual` is enough in an
 * ordinary run: 1 with POINTSMAN_SWEEP=full, several times `usual` with
 * POINTSMAN_SWEEP=once (tests/support/points.sh). */
unsigned test_sweep_stride(unsigned usual);
/* How many random cases a test draws: `usual`, or a fifth of it with
 * POINTSMAN_SWEEP=once. */
unsigned test_cases(unsigned usual);

#endif
