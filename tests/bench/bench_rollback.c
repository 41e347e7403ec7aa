/* The time to roll back 50 landed sets in a repository of 10,000 files, from
 * the command until the branch has moved, compared with `git revert` of the
 * same commits in a work tree: one by one, and all in one call. They run
 * alternately; after each the branch is restored (by a rollback of the
 * rollback, or a reset). Each must end with the tree from before the first set.
 *
 * Then the time to roll back one set under 1,000 later ones that changed the
 * same file of 3,000 lines, compared with the limit of 10 s and with `git
 * revert` of its commit. Only the process that reverts is measured.
 *
 *     bench_rollback POINTSMAN LAND_PROGRAM */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/figure.h"

enum { SETS = 50, LATER = 1000, LIMIT_S = 10, ROUNDS = 5 };

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
    "}\n"
    "deep_prepare() {\n"
    "  sum=$(printf C1 | sha256sum | cut -c1-64)\n"
    "  git init -q --bare -b main deep.git\n"
    "  awk -v later=$later -v sum=$sum 'BEGIN {\n"
    "    for (k = 0; k < 3000; k++) line[k] = \"line \" k\n"
    "    for (i = 0; i <= later + 1; i++) {\n"
    "      if (i > 0) line[2 * i] = \"set \" i\n"
    "      said = i == 0 ? \"start\" : \"change\\n\\nCS-Id: C\" i \\\n"
    "        \"\\nCS-Sum: \" sum \"\\nCS-Class: DC\\n\"\n"
    "      text = \"\"\n"
    "      for (k = 0; k < 3000; k++) text = text line[k] \"\\n\"\n"
    "      printf \"commit refs/heads/main\\ncommitter A <a@localhost> %d \" "
    "\\\n"
    "        \"+0000\\ndata %d\\n%s\\nM 100644 inline f\\ndata %d\\n%s\\n\",\n"
    "        1700000000 + i, length(said), said, length(text), text\n"
    "    }\n"
    "  }' | git -C deep.git fast-import --quiet\n"
    "  git -C deep.git rev-parse main >deep.tip\n"
    "  git clone -q deep.git deep\n"
    "}\n"
    "deep_ours() {\n"
    "  sum=$(printf C1 | sha256sum | cut -c1-64)\n"
    "  POINTSMAN_STATUS_FD=3 \"$land\" revert --id R1 --sum x --target main "
    "\\\n"
    "    --work \"$PWD/deep.work\" --submitter 'R <r@localhost>' \\\n"
    "    --git \"$PWD/deep.git\" --branch main --member C1 $sum DC 0 - \\\n"
    "    3>status >/dev/null\n"
    "  grep -q '^done ' status\n"
    "}\n"
    "deep_peer() {\n"
    "  git -C deep revert --no-edit HEAD~$later >/dev/null\n"
    "}\n"
    "deep_back() {\n"
    "  [ $(git -C deep.git rev-parse main^{tree}) = \\\n"
    "    $(git -C deep rev-parse HEAD^{tree}) ]\n"
    "  git -C deep.git update-ref refs/heads/main $(cat deep.tip)\n"
    "  git -C deep reset -q --hard $(cat deep.tip)\n"
    "}\n";

static const char *program, *land_program;

/* Returns the time that one of the functions takes. */
static double run_us(const char *function) {
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    text_addf(&script, "program=%s land=%s sets=%d later=%d\n%s%s\n", program,
              land_program, SETS, LATER, story, function);
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

static void show_deep(double ours_us, const char *other, double ratio,
                      double goal) {
    struct figure figure = {
        .what = bench_text("rollback under %d later sets", LATER),
        .ours = bench_text("%.2f s", ours_us / 1e6),
        .other = other,
        .value = ratio,
        .unit = "",
        .goal = goal,
        .at_most = true,
    };
    figure_print(&figure);
}

static void measure_deep(void) {
    double ours[ROUNDS], peer[ROUNDS];
    (void)run_us("deep_prepare");
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = run_us("deep_ours");
        peer[i] = run_us("deep_peer");
        (void)run_us("deep_back");
    }
    double ours_us = bench_median(ours, ROUNDS),
           peer_us = bench_median(peer, ROUNDS);
    show_deep(ours_us, bench_text("limit %d s", LIMIT_S),
              ours_us / (LIMIT_S * 1e6), 1);
    show_deep(ours_us, bench_text("git revert %.2f s", peer_us / 1e6),
              ours_us / peer_us, 0);
}

int main(int argc, char **argv) {
    double ours[ROUNDS], singly[ROUNDS], at_once[ROUNDS];
    if (argc != 3)
        bench_die("usage: bench_rollback POINTSMAN LAND_PROGRAM");
    program = realpath(argv[1], NULL);
    land_program = realpath(argv[2], NULL);
    if (program == NULL || land_program == NULL || chdir(bench_dir()) != 0)
        bench_die("cannot use '%s' or '%s'", argv[1], argv[2]);
    measure_deep();
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
