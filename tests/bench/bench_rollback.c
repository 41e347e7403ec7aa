/* The time to roll back 50 landed sets in a repository of 10,000 files, from
 * the command until the branch has moved, compared with `git revert` of the
 * same commits in a work tree: one by one, and all in one call. They run
 * alternately; after each the branch is restored (by a rollback of the
 * rollback, or a reset). Each must end with the tree from before the first set.
 *
 *     bench_rollback POINTSMAN */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/figure.h"

enum { SETS = 50, ROUNDS = 5 };

/* The functions of the shell scripts. */
static const char story[] =
    "set -eu\n"
    "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n"
    "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@localhost\n"
    "export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@localhost\n"
    "export POINTSMAN_BASE=$PWD/base\n"
    "idle() { \"$program\" daemon all --until-idle 2>/dev/null; }\n"
    "ids() { seq -f C%.0f $sets; }\n"
    "is_begun() {\n"
    "  [ $(git -C $1 rev-parse $2^{tree}) = $(cat tree) ]\n"
    "}\n"
    "repository() {\n"
    "  git init -q --bare -b main project.git\n"
    "  awk 'BEGIN {\n"
    "    print \"commit refs/heads/main\\ncommitter A <a@localhost> \" \\\n"
    "      \"1700000000 +0000\\ndata 6\\nstart\\n\"\n"
    "    for (i = 0; i < 10000; i++) {\n"
    "      text = \"\"\n"
    "      for (k = 0; k < 20; k++) text = text \"file \" i \" line \" k "
    "\"\\n\"\n"
    "      printf \"M 100644 inline d%d/f%d\\ndata %d\\n%s\\n\",\n"
    "        i / 100, i % 100, length(text), text\n"
    "    }\n"
    "  }' | git -C project.git fast-import --quiet\n"
    "  git -C project.git rev-parse main^{tree} >tree\n"
    "}\n"
    "prepare() {\n"
    "  repository\n"
    "  \"$program\" -q init --target main=project.git base\n"
    "  git clone -q project.git work\n"
    "  for i in $(seq $sets); do\n"
    "    git -C work checkout -q -B w origin/main\n"
    "    echo change $i >>work/d$i/f$i\n"
    "    echo more $i >>work/d$((i + 1))/f$i\n"
    "    git -C work commit -q -a -m \"Change $i\"\n"
    "    \"$program\" -q change pack --target main --submit --id C$i -C work "
    "\\\n"
    "      HEAD~1..HEAD >/dev/null\n"
    "  done\n"
    "  idle\n"
    "  git -C work fetch -q\n"
    "  git -C work checkout -q -B peer origin/main\n"
    "  git -C work rev-parse HEAD >landed\n"
    "  git -C work log --format=%H -$sets >commits\n"
    "}\n"
    "ours() { \"$program\" -q rollback $(ids) >rb; idle; }\n"
    "ours_back() {\n"
    "  is_begun project.git main\n"
    "  \"$program\" -q rollback $(cat rb) >/dev/null; idle\n"
    "}\n"
    "one_by_one() {\n"
    "  for commit in $(cat commits); do\n"
    "    git -C work revert --no-edit $commit >/dev/null\n"
    "  done\n"
    "}\n"
    "at_once() { git -C work revert --no-edit $(cat commits) >/dev/null; }\n"
    "peer_back() {\n"
    "  is_begun work HEAD\n"
    "  git -C work reset -q --hard $(cat landed)\n"
    "}\n";

static const char *program;

/* Returns the time that one of the functions takes. */
static double run_us(const char *function) {
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    text_addf(&script, "program=%s sets=%d\n%s%s\n", program, SETS, story,
              function);
    return bench_shell_us(text_string(&script), function);
}

static void show(const char *peer, double ours_us, double peer_us,
                 double goal) {
    struct figure figure = {
        .what = bench_text("rollback of %d sets, 10,000 files", SETS),
        .ours = bench_text("%.2f s", ours_us / 1e6),
        .other = bench_text("%s %.2f s", peer, peer_us / 1e6),
        .value = ours_us / peer_us,
        .unit = "",
        .goal = goal,
        .at_most = true,
    };
    figure_print(&figure);
}

int main(int argc, char **argv) {
    double ours[ROUNDS], singly[ROUNDS], at_once[ROUNDS];
    if (argc != 2)
        bench_die("usage: bench_rollback POINTSMAN");
    program = realpath(argv[1], NULL);
    if (program == NULL || chdir(bench_dir()) != 0)
        bench_die("cannot use '%s'", argv[1]);
    (void)run_us("prepare");
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = run_us("ours");
        (void)run_us("ours_back");
        singly[i] = run_us("one_by_one");
        (void)run_us("peer_back");
        at_once[i] = run_us("at_once");
        (void)run_us("peer_back");
    }
    double ours_us = bench_median(ours, ROUNDS);
    show("git revert, each", ours_us, bench_median(singly, ROUNDS), 1);
    show("git revert, all in one", ours_us, bench_median(at_once, ROUNDS), 0);
    return 0;
}
