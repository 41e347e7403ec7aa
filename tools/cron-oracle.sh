#!/bin/sh
# tools/cron-oracle.sh [SECONDS [SEED]]: a long comparison of the cron library
# with the minute walker of tests/cron/oracle.c.
#
# Generates random items for every zone of the database for SECONDS (600), with
# one process per processor. Each round uses the next seed, starting with SEED
# (default: the time). At the first difference it prints the item, the zone, the
# instant and both answers, and exits. CRON_ORACLE_CASES=N sets the number of
# cases per round (400000).
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-600}
seed=${2:-$(date +%s)}
program=build/tests/cron/test_cron_oracle
tab=/usr/share/zoneinfo/zone1970.tab
CRON_ORACLE_CASES=${CRON_ORACLE_CASES:-400000}
CRON_ORACLE_ZONES=$(awk -F '\t' '/^[^#]/ { print $3 }' "$tab")
export CRON_ORACLE_CASES CRON_ORACLE_ZONES

[ -f build/build.ninja ] || meson setup build
ninja -C build tests/cron/test_cron_oracle >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
end=$(($(date +%s) + seconds))

# rounds WORKER STEP: seeds SEED + WORKER, + STEP, ... until the time is up.
rounds() {
    this=$((seed + $1))
    while [ "$(date +%s)" -lt "$end" ] && [ ! -e "$work/failed" ]; do
        if ! CRON_ORACLE_SEED=$this "$program" >"$work/$1" 2>&1; then
            touch "$work/failed"
            sed "s/^/seed $this: /" "$work/$1"
            return
        fi
        sed -n "s/^# /seed $this: /p" "$work/$1" | tee -a "$work/seen.$1"
        this=$((this + $2))
    done
}

workers=$(getconf _NPROCESSORS_ONLN)
worker=0
while [ "$worker" -lt "$workers" ]; do
    rounds "$worker" "$workers" &
    worker=$((worker + 1))
done
wait
[ ! -e "$work/failed" ] || exit 1
cat "$work"/seen.* | awk '{ cases += $3; near += $8 }
    END { printf "%d cases, %d within a day of a change, no difference\n",
          cases, near }'
