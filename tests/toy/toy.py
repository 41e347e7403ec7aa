"""A new capability is one folder and one row in each table; TAP on stdout.

    python3 toy.py ROOT [COMPILER...]

Copies the source tree, adds the folder tests/toy/src/ as src/toy/ and the rows
of tests/toy/rows, builds the program and plays tests/toy/toy.t with it.
"""
import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2:]

# Every file that the toy changes, with the number of places. If this list has
# to grow, a table is missing: doc/adding.md would grow, too.
CHANGED = {
    "ARCHITECTURE.md": 1,           # the module
    "meson.build": 1,
    "src/cli/commands.def": 1,      # its commands
    "src/core/event_facts.def": 1,  # the fact of its event
    "src/core/life.def": 2,         # the kind of work, and the event
    "src/serve/routes.def": 1,      # its routes
    "src/serve/tables.c": 6,        # one row in each table, and their headers
}

# The tests that compare tables with what the program does and shows.
TESTS = ["access", "api", "cli-agree", "config", "event_facts", "job", "role",
         "store_noun"]


def copy_tree(to):
    """The sources without build directories and what git keeps."""
    to.mkdir()
    for entry in ROOT.iterdir():
        if entry.name == ".git" or (entry / "meson-private").is_dir():
            continue
        if entry.is_dir():
            shutil.copytree(entry, to / entry.name, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(entry, to / entry.name)


def read_rows():
    """(file, beginning of the line before, lines) for each place."""
    rows = []
    for line in (ROOT / "tests/toy/rows").read_text().splitlines():
        place = re.match(r"@ (\S+): (.+)", line)
        if place:
            rows.append((place[1], place[2], []))
        elif rows and line.strip():
            rows[-1][2].append(line + "\n")
    return rows


def add_rows(tree, rows):
    for name, before, new in rows:
        path = tree / name
        lines = path.read_text().splitlines(keepends=True)
        at = [n for n, line in enumerate(lines)
              if line.lstrip().startswith(before)]
        if not at:
            raise SystemExit(f"Bail out! {name} has no line '{before}'")
        lines[at[0] + 1:at[0] + 1] = new
        path.write_text("".join(lines))


def differing(one, other):
    """Paths of the files that differ, or exist in one tree only."""
    found, queue = [], [filecmp.dircmp(one, other)]
    while queue:
        pair = queue.pop()
        for name in pair.diff_files + pair.left_only + pair.right_only:
            path = pathlib.Path(pair.right, name).relative_to(other)
            if not (pathlib.Path(pair.left, name) / "meson-private").is_dir() \
                    and name not in (".git", "__pycache__"):
                found.append(str(path))
        queue.extend(pair.subdirs.values())
    return sorted(found)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **more)


def failure(done):
    """The output of a command that failed; None if it succeeded."""
    return done.stdout or "it failed" if done.returncode else None


def tap_failure(done):
    """The failed tests of a program that prints TAP; None if all passed."""
    failed = [line for line in done.stdout.splitlines()
              if line and not re.match(r"ok |1\.\.\d", line)]
    return "\n".join(failed) or failure(done)


def judge(name, problem):
    judge.count += 1
    print("not ok" if problem else "ok", judge.count, "-", name, flush=True)
    for line in (problem or "").splitlines()[-60:]:
        print("#", line)
    return not problem


judge.count = 0


def build(tree, out):
    env = dict(os.environ)
    if COMPILER:
        env["CC"] = " ".join(COMPILER)
    return failure(run("meson", "setup", out, tree, "-Dbuildtype=plain",
                       "-Dwerror=true", env=env)) or \
        failure(run("ninja", "-C", out, "src/cli/pointsman"))


def test_tables(out):
    """Runs TESTS; cli-agree reads the generated manual pages."""
    targets = run("ninja", "-C", out, "-t", "targets", "all").stdout
    pages = re.findall(r"^(src/cli/generated/[^:]+\.1): ", targets, re.M)
    problem = failure(run("ninja", "-C", out, *pages))
    if problem:
        return problem
    done = run("meson", "test", "-C", out, "--print-errorlogs",
               "--timeout-multiplier", "6", *TESTS)
    all_passed = re.search(rf"^Ok: +{len(TESTS)}\b", done.stdout, re.M)
    return failure(done) or (None if all_passed else done.stdout)


def main():
    with tempfile.TemporaryDirectory(prefix="toy-") as place:
        tree, out = pathlib.Path(place, "tree"), pathlib.Path(place, "out")
        copy_tree(tree)
        rows = read_rows()
        add_rows(tree, rows)
        shutil.copytree(ROOT / "tests/toy/src", tree / "src/toy")
        places = {name: sum(row[0] == name for row in rows)
                  for name in CHANGED}
        changed = differing(ROOT, tree)
        judge("the toy is one folder, and rows in the tables listed here",
              "".join(f"it changes {name}\n" for name in changed
                      if name not in [*CHANGED, "src/toy"]) +
              "".join(f"{name}: {places[name]} places, not {most}\n"
                      for name, most in CHANGED.items()
                      if places[name] != most or name not in changed))
        contract = tree / "tests/contract"
        judge("the rules on modules, tables and names hold for it",
              tap_failure(run(sys.executable, contract / "house.py", tree)))
        if judge("the program is built with it, without a warning",
                 build(tree, out)):
            judge("its objects use only the modules below it",
                  tap_failure(run(sys.executable, contract / "link_graph.py",
                                  tree, out)))
            judge("the tests of the tables pass with it", test_tables(out))
            judge("each of its rows works",
                  tap_failure(run(sys.executable,
                                  ROOT / "tests/cli/transcript.py",
                                  out / "src/cli/pointsman",
                                  ROOT / "tests/toy/toy.t")))
        print(f"1..{judge.count}")


main()
