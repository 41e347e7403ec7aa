/* Sets that land through the merge train of a real base: eight sets whose check
 * sleeps for a second, on four lanes and on one, and 64 sets without checks.
 * The number of checks that ran is compared too. The throughput of the
 * decisions alone is the subject of bench_train.
 *
 *     bench_lanes POINTSMAN */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/figure.h"

enum { CHECKED = 8, UNCHECKED = 64, LANES = 4, ROUNDS = 5 };

static const char story[] =
    "set -eu\n"
    "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n"
    "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@localhost\n"
    "export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@localhost\n"
    "export POINTSMAN_BASE=$PWD/base\n"
    "idle() { \"$program\" daemon $1 --until-idle >>log 2>&1; }\n"
    "prepare() {\n"
    "  mkdir sets\n"
    "  git init -q --bare -b main start.git\n"
    "  git -C start.git update-ref refs/heads/main $(git -C start.git \\\n"
    "    commit-tree -m start $(git -C start.git mktree </dev/null))\n"
    "  fresh 1\n"
    "  for i in $(seq -w $unchecked); do\n"
    "    rm -rf d; mkdir d; echo $i >d/f$i\n"
    "    \"$program\" -q change pack -t main --id C$i -m \"Set $i\" \\\n"
    "      -o sets d >/dev/null\n"
    "  done\n"
    "}\n"
    "fresh() {\n" /* LANES [CHECK] */
    "  rm -rf base project.git ran; : >ran; cp -a start.git project.git\n"
    "  \"$program\" -q init --target main=project.git base\n"
    "  mkdir -p base/conf.d\n"
    "  printf '[queue]\\nconcurrency = 8\\n[target \"main\"]\\nlanes = %s\\n' "
    "\\\n"
    "    $1 >base/conf.d/lanes.conf\n"
    "  [ $# -eq 1 ] || echo \"check.it = $2\" >>base/conf.d/lanes.conf\n"
    "}\n"
    "put() {\n" /* SETS */
    "  \"$program\" -q change put $(ls -d sets/* | head -n $1) >>log\n"
    "  idle prequeue; idle queue; sync\n"
    "}\n"
    "ready_lanes() {\n"
    "  fresh $lanes \"sh -c 'echo ran >>$PWD/ran; sleep 1'\"; put $checked\n"
    "}\n"
    "ready_lane() {\n"
    "  fresh 1 \"sh -c 'echo ran >>$PWD/ran; sleep 1'\"; put $checked\n"
    "}\n"
    "ready_unchecked() { fresh $lanes; put $unchecked; }\n"
    "land() { idle all; }\n"
    "has() { [ $(git -C project.git rev-list --count main) = $(($1 + 1)) ]; }\n"
    "has_checked() { has $checked; [ $(wc -l <ran) = $checked ]; }\n"
    "has_unchecked() { has $unchecked; }\n"
    "ready_loop() {\n"
    "  rm -rf loop.git; cp -a start.git loop.git; : >entries; sync\n"
    "}\n"
    "durable() { git -C loop.git -c core.fsync=all \"$@\"; }\n"
    "loop() {\n"
    "  at=$(git -C loop.git rev-parse main)\n"
    "  for i in $(seq $unchecked); do\n"
    "    blob=$(echo $i | durable hash-object -w --stdin)\n"
    "    printf '100644 blob %s\\tf%s\\n' $blob $i >>entries\n"
    "    tree=$(durable mktree <entries)\n"
    "    at=$(durable commit-tree -p $at -m \"Set C$i\" $tree)\n"
    "    durable update-ref refs/heads/main $at\n"
    "  done\n"
    "}\n";

static const char *program;

static double run_s(const char *function) {
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    text_addf(&script, "program=%s checked=%d unchecked=%d lanes=%d\n%s%s\n",
              program, CHECKED, UNCHECKED, LANES, story, function);
    return bench_shell_us(text_string(&script), function) / 1e6;
}

static double measured_s(const char *before, const char *function,
                         const char *after) {
    (void)run_s(before);
    double s = run_s(function);
    if (after != NULL)
        (void)run_s(after);
    return s;
}

static void show(const char *what, double ours_s, const char *peer,
                 double value, const char *unit, double goal, bool at_most) {
    figure_print(&(struct figure){.what = what,
                                  .ours = bench_text("%.2f s", ours_s),
                                  .other = peer,
                                  .value = value,
                                  .unit = unit,
                                  .goal = goal,
                                  .at_most = at_most});
}

int main(int argc, char **argv) {
    double lanes[ROUNDS], lane[ROUNDS], unchecked[ROUNDS], loop[ROUNDS];
    if (argc != 2)
        bench_die("usage: bench_lanes POINTSMAN");
    program = realpath(argv[1], NULL);
    if (program == NULL || chdir(bench_dir()) != 0)
        bench_die("cannot use '%s'", argv[1]);
    (void)run_s("prepare");
    for (int i = 0; i < ROUNDS; i++) {
        lanes[i] = measured_s("ready_lanes", "land", "has_checked");
        lane[i] = measured_s("ready_lane", "land", "has_checked");
        unchecked[i] = measured_s("ready_unchecked", "land", "has_unchecked");
        loop[i] = measured_s("ready_loop", "loop", NULL);
    }
    double lanes_s = bench_median(lanes, ROUNDS);
    double lane_s = bench_median(lane, ROUNDS);
    double unchecked_s = bench_median(unchecked, ROUNDS);
    double loop_s = bench_median(loop, ROUNDS);
    show(bench_text("%d sets, checks of 1 s, %d lanes", CHECKED, LANES),
         lanes_s, bench_text("2 rounds of checks 2 s"), lanes_s, "s", 2.6,
         true);
    show("  throughput", lanes_s, bench_text("one lane %.2f s", lane_s),
         lane_s / lanes_s, "", 1, false);
    show(bench_text("%d sets without checks", UNCHECKED), unchecked_s, "",
         unchecked_s, "s", 1, true);
    show("  the same", unchecked_s, bench_text("git plumbing %.2f s", loop_s),
         unchecked_s / loop_s, "", 0.5, true);
    return 0;
}
