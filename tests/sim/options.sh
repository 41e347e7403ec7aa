#!/bin/sh
# options.sh TEST_SIM: a campaign with a mistyped option, or without seeds, must
# not look like a campaign that found nothing.
sim=$1
count=0 failed=0

# refuses NAME WORD...: WORD... must exit with 64 and an error, running no test
refuses() {
    name=$1
    shift
    count=$((count + 1))
    message=$("$sim" "$@" 2>&1 >/dev/null)
    status=$?
    ran=$("$sim" "$@" 2>/dev/null)
    if [ $status -eq 64 ] && [ -z "$ran" ] && [ -n "$message" ]; then
        echo "ok $count $name"
    else
        echo "not ok $count $name"
        echo "# $* ended with $status: $message"
        failed=1
    fi
}

refuses an_unknown_option --sead 3
refuses a_word_without_an_option 3
refuses an_option_without_its_value --seed
refuses a_range_without_its_end --seeds 3
refuses an_empty_range --seeds 3 2
refuses a_seed_that_is_not_a_number --seed 3x
refuses a_percentage_above_100 --rollbacks 101
refuses no_lanes --lanes 0
echo "1..$count"
exit $failed
