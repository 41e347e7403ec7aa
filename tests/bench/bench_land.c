/* The time to land change sets that are ready, without checks, compared with
 * git plumbing that does the same: a loop of hash-object, mktree, commit-tree
 * and update-ref with core.fsync=all. 200 sets of one small file are landed one
 * by one (land-max = 1), and 20 with one move of the branch. A set of
 * 20,000 files is compared with hash-object, update-index and write-tree of
 * git's default settings. Ours and the peer alternate; each landing must end
 * with all commits. At last the intake of 1,000 sets of three files.
 *
 *     bench_land POINTSMAN */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/figure.h"

enum { SETS = 200, TOGETHER = 20, FILES = 20000, INTAKE = 1000, ROUNDS = 5 };

/* The functions of the shell scripts. */
static const char story[] =
    "set -eu\n"
    "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n"
    "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@localhost\n"
    "export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@localhost\n"
    "export POINTSMAN_BASE=$PWD/base\n"
    "idle() { \"$program\" daemon $1 --until-idle >>log 2>&1; }\n"
    "pack() {\n" /* DIRECTORY ID DIR [OPTION...] */
    "  into=$1 id=$2 from=$3; shift 3\n"
    "  \"$program\" -q change pack -t main --id $id -m \"Set $id\" \\\n"
    "    -o $into \"$@\" $from >/dev/null\n"
    "}\n"
    /* A name of its own for each file, so that no set waits for another. */
    "prepare() {\n"
    "  mkdir single large three tree\n"
    "  git init -q --bare -b main start.git\n"
    "  git -C start.git update-ref refs/heads/main $(git -C start.git \\\n"
    "    commit-tree -m start $(printf '100644 blob %s\\tstart\\n' \\\n"
    "      $(echo start | git -C start.git hash-object -w --stdin) |\n"
    "      git -C start.git mktree))\n"
    "  fresh 1\n"
    "  for i in $(seq $sets); do\n"
    "    rm -rf d; mkdir d; echo $i >d/f$i\n"
    "    pack single C$i d\n"
    "  done\n"
    "  for i in $(seq $intake); do\n"
    "    rm -rf d; mkdir d; for k in a b c; do echo $i >d/$k$i; done\n"
    "    pack three C$i d\n"
    "  done\n"
    "  for i in $(seq 0 $((files / 100 - 1))); do\n"
    "    mkdir tree/d$i\n"
    "    for k in $(seq 100); do echo $i $k >tree/d$i/f$k; done\n"
    "  done\n"
    "  pack large C1 tree\n"
    "}\n"
    "fresh() {\n" /* SETS that move together at most */
    "  rm -rf base project.git; cp -a start.git project.git\n"
    "  \"$program\" -q init --target main=project.git base\n"
    "  mkdir -p base/conf.d\n"
    "  printf '[target \"main\"]\\nland-max = %s\\n' $1 "
    ">base/conf.d/land.conf\n"
    "}\n"
    "ready() {\n" /* DIRECTORY SETS */
    "  fresh $2; \"$program\" -q change put $1/* >>log; idle prequeue; idle "
    "queue; "
    "sync\n"
    "}\n"
    "ready_single() { ready single 1; }\n"
    "ready_together() { ready single $together; }\n"
    "ready_large() { ready large 1; }\n"
    "land() { idle all; }\n"
    "has() {\n" /* COMMITS beyond the first */
    "  [ $(git -C $1 rev-list --count main) = $(($2 + 1)) ]\n"
    "}\n"
    "has_sets() { has project.git $sets; }\n"
    "has_large() {\n"
    "  has project.git 1\n"
    "  [ $(git -C project.git ls-tree -r main | wc -l) = $((files + 1)) ]\n"
    "}\n"
    "ready_loop() {\n"
    "  rm -rf loop.git; cp -a start.git loop.git\n"
    "  git -C loop.git ls-tree main >entries; sync\n"
    "}\n"
    "durable() { git -C loop.git -c core.fsync=all \"$@\"; }\n"
    "loop() {\n"
    "  at=$(git -C loop.git rev-parse main)\n"
    "  for i in $(seq $sets); do\n"
    "    blob=$(echo $i | durable hash-object -w --stdin)\n"
    "    printf '100644 blob %s\\tf%s\\n' $blob $i >>entries\n"
    "    tree=$(durable mktree <entries)\n"
    "    at=$(durable commit-tree -p $at -m \"Set C$i\" $tree)\n"
    "    durable update-ref refs/heads/main $at\n"
    "  done\n"
    "}\n"
    "has_loop() { has loop.git $sets; }\n"
    "ready_write() {\n"
    "  rm -rf loop.git write.index; cp -a start.git loop.git\n"
    "  (cd tree; find . -type f | sed 's,^\\./,,') >names\n"
    "  sed \"s,^,$PWD/tree/,\" names >paths; sync\n"
    "}\n"
    "write() {\n"
    "  git -C loop.git hash-object -w --stdin-paths <paths |\n"
    "    paste - names | sed 's/^/100644 /' |\n"
    "    GIT_INDEX_FILE=$PWD/write.index git -C loop.git update-index \\\n"
    "      --add --index-info\n"
    "  GIT_INDEX_FILE=$PWD/write.index git -C loop.git write-tree >/dev/null\n"
    "}\n"
    "ready_intake() { fresh 1; \"$program\" -q change put three/* >>log; sync; "
    "}\n"
    "intake() { idle prequeue; }\n"
    "has_intake() { [ $(ls base/prequeue | wc -l) = 0 ]; }\n";

static const char *program;

static double run_us(const char *function) {
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    text_addf(&script,
              "program=%s sets=%d together=%d files=%d intake=%d\n%s%s\n",
              program, SETS, TOGETHER, FILES, INTAKE, story, function);
    return bench_shell_us(text_string(&script), function);
}

static double measured_us(const char *before, const char *function,
                          const char *after) {
    (void)run_us(before);
    double us = run_us(function);
    if (after != NULL)
        (void)run_us(after);
    return us;
}

static void show(const char *what, double ours_us, const char *peer,
                 double peer_us, unsigned sets, double goal) {
    struct figure figure = {
        .what = what,
        .ours = bench_text("%.2f ms each", ours_us / 1e3 / sets),
        .other = bench_text("%s %.2f ms", peer, peer_us / 1e3 / sets),
        .value = ours_us / peer_us,
        .unit = "",
        .goal = goal,
        .at_most = true,
    };
    figure_print(&figure);
}

static void bench_sets(void) {
    double single[ROUNDS], together[ROUNDS], loop[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        single[i] = measured_us("ready_single", "land", "has_sets");
        loop[i] = measured_us("ready_loop", "loop", "has_loop");
        together[i] = measured_us("ready_together", "land", "has_sets");
    }
    double loop_us = bench_median(loop, ROUNDS);
    show(bench_text("landing %d sets of one file", SETS),
         bench_median(single, ROUNDS), "git plumbing", loop_us, SETS, 0.5);
    show(bench_text("the same, %d in one move", TOGETHER),
         bench_median(together, ROUNDS), "git plumbing", loop_us, SETS, 0.2);
}

static void bench_large(void) {
    double ours[ROUNDS], peer[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = measured_us("ready_large", "land", "has_large");
        peer[i] = measured_us("ready_write", "write", NULL);
    }
    show(bench_text("landing a set of %d files", FILES),
         bench_median(ours, ROUNDS), "git plumbing", bench_median(peer, ROUNDS),
         1, 1.5);
}

static void bench_intake(void) {
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        us[i] = measured_us("ready_intake", "intake", "has_intake");
    double each_us = bench_median(us, ROUNDS) / INTAKE;
    struct figure figure = {
        .what = bench_text("intake of %d sets of 3 files", INTAKE),
        .ours = bench_text("%.2f ms each", each_us / 1e3),
        .other = "",
        .value = 1e6 / each_us,
        .unit = "/s",
        .goal = 100,
    };
    figure_print(&figure);
}

int main(int argc, char **argv) {
    if (argc != 2)
        bench_die("usage: bench_land POINTSMAN");
    program = realpath(argv[1], NULL);
    if (program == NULL || chdir(bench_dir()) != 0)
        bench_die("cannot use '%s'", argv[1]);
    (void)run_us("prepare");
    bench_sets();
    bench_large();
    bench_intake();
    return 0;
}
