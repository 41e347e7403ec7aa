# Chooses the points of a sweep. A crash sweep runs a command with a fault at
# one of its system calls, recovers, and checks the result. Each call is a
# point. A script sources this after tests/support/scenario.sh.
#
#   POINTSMAN_SWEEP=      a sample: points as far apart as possible, until the
#                         time of the sweep is used up
#   POINTSMAN_SWEEP=once  one point of each sweep
#   POINTSMAN_SWEEP=full  every point (tools/campaign)
#   POINTSMAN_SEED=N      choose another sample (default: 0)
#   POINTSMAN_POINTS=N    exactly N points in each sweep, without a time limit
#   POINTSMAN_FROM=N      the first point of a full sweep (default: 1)
#   POINTSMAN_STEP=N      every N-th point of a full sweep (default: 1)
#   POINTSMAN_RESULTS=F   appends a line for each point to F
#
# The output of the script lists the points tried, and how to repeat them.
sweep=${POINTSMAN_SWEEP:-}
seed=${POINTSMAN_SEED:-0}
: "${POINT_MS:=700}" # time of a sample, for each point requested

# now_ms: sets $now to the monotonic time, without starting a process
now_ms() {
    read -r now rest </proc/uptime
    now=${now%.*}${now#*.}0
}

# points_begin TOTAL MOST: begins a sweep of TOTAL points; a sample has at most
# MOST
points_begin() {
    total=$1
    most=$2
    tried=0
    bad=0
    at=0
    now_ms
    began=$now
    [ "$most" -le "$total" ] || most=$total
    case $sweep in
    once) most=1 ;;
    full) at=$((${POINTSMAN_FROM:-1} - ${POINTSMAN_STEP:-1})) ;;
    esac
    most_ms=$((most * POINT_MS))
    [ -z "${POINTSMAN_POINTS:-}" ] || most=$POINTSMAN_POINTS most_ms=
}

# points_next: sets $at to the next point; false if there is none. A run may
# make more calls than the run that counted them, so a full sweep continues as
# long as the fault still occurs ($came is 137).
points_next() {
    if [ "$sweep" = full ]; then
        at=$((at + ${POINTSMAN_STEP:-1}))
        tried=$((tried + 1))
        [ "$at" -le "$total" ] || [ "${came:-0}" -eq 137 ]
        return
    fi
    [ "$tried" -lt "$most" ] || return
    now_ms
    # The next point costs about as much as the mean of those before it.
    [ "$tried" -eq 0 ] || [ -z "$most_ms" ] ||
        [ $(((now - began) * (tried + 1) / tried)) -lt "$most_ms" ] || return
    tried=$((tried + 1))
    # Steps of the golden ratio: however many there are, they are spread evenly.
    at=$(((seed + total * tried * 618 / 1000) % total + 1))
}

# point_result WORD: records the result of the current point
point_result() {
    [ "$1" = ok ] || bad=$((bad + 1))
    [ -z "${POINTSMAN_RESULTS:-}" ] ||
        echo "$sentence: point $at of $total: $1" >>"$POINTSMAN_RESULTS"
}

# points_end: true if no point failed
points_end() {
    [ "$sweep" = full ] ||
        remark "$tried of $total points (POINTSMAN_SEED=$seed POINTSMAN_POINTS=$tried)"
    [ $bad -eq 0 ]
}
