#include "lib/random.h"

#include "lib/text.h"
#include "support/test.h"

/* The numbers come from another implementation of splitmix64 and xoshiro256**.
 * A seed must always produce the same sequence. */
static void a_seed_always_gives_the_same_numbers(void **state) {
    static const uint64_t want[] = {
        UINT64_C(0x99ec5f36cb75f2b4), UINT64_C(0xbf6e1f784956452a),
        UINT64_C(0x1a5f849d4933e6e0), UINT64_C(0x6aa594f1262d2d2c)};
    struct random random;

    (void)state;
    random_init(&random, 0);
    for (size_t i = 0; i < COUNT(want); i++)
        assert_true(random_below(&random, UINT64_MAX) == want[i]);
}

static void numbers_are_below_the_limit_and_evenly_spread(void **state) {
    unsigned seen[7] = {0};
    struct random random;

    (void)state;
    random_init(&random, 3);
    for (int i = 0; i < 7000; i++) {
        uint64_t draw = random_below(&random, 7);

        assert_true(draw < 7);
        seen[draw]++;
    }
    for (size_t i = 0; i < COUNT(seen); i++)
        assert_in_range(seen[i], 850, 1150);
    assert_true(random_below(&random, 1) == 0);
    for (int i = 0; i < 100; i++)
        assert_true(random_below(&random, UINT64_MAX) < UINT64_MAX);
}

static void exponential_draws_have_their_distribution(void **state) {
    struct random random;
    double sum = 0;
    unsigned below_ln2 = 0;

    (void)state;
    random_init(&random, 1);
    for (unsigned i = 0; i < 100000; i++) {
        double draw = random_exponential(random_below(&random, UINT64_MAX));
        assert_true(draw >= 0);
        sum += draw;
        below_ln2 += draw < 0.6931471805599453;
    }
    assert_true(sum > 99000 && sum < 101000);
    assert_in_range(below_ln2, 49500, 50500); /* the median */
    assert_true(random_exponential(0) > 40);
    assert_true(random_exponential(UINT64_MAX) < 1e-9);
    assert_true(random_exponential(UINT64_C(1) << 63) > 0.6931471 &&
                random_exponential(UINT64_C(1) << 63) < 0.6931472);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_always_gives_the_same_numbers),
        cmocka_unit_test(numbers_are_below_the_limit_and_evenly_spread),
        cmocka_unit_test(exponential_draws_have_their_distribution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
