"""Rollbacks in random histories, compared with an independent replay and with
plain `git revert`; TAP.

    python3 revert_history.py LAND_PROGRAM [HISTORIES]

A history is a line of commits on one branch: sets that edit a few lines of a
few files, pushes of others, and rollbacks of random sets, some of which are
rollbacks themselves. After each rollback every file must be the replay of the
sets in effect and of the pushes, or the rollback must have been refused with
rb-conflict. SEED=N repeats one history.
"""
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from replay import Line

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
HISTORIES = int(sys.argv[2]) if len(sys.argv) > 2 else 40
HOME = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-revert."))
ENV = {**os.environ, "HOME": str(HOME), "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
       "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
       "POINTSMAN_STATUS_FD": "3"}
FILES = ["a", "d/b", "c"]
SETS = 12


class Broken(Exception):
    pass


def git(*words, cwd, check=True, data=None):
    got = subprocess.run(["git", *words], cwd=cwd, env=ENV, text=True,
                         capture_output=True, input=data)
    if check and got.returncode != 0:
        raise Broken(f"git {words}: {got.stderr}")
    return got


def sum_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


class History:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dir = HOME / f"h{seed}"
        self.work = self.dir / "work"
        self.bare = self.dir / "target.git"
        (self.dir / "tmp").mkdir(parents=True)
        git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=HOME)
        git("clone", "-q", str(self.bare), str(self.work), cwd=HOME)
        git("checkout", "-q", "-b", "main", cwd=self.work)
        self.line = Line({name: "".join(f"{name} {i}\n" for i in range(24))
                          for name in FILES})
        self.commits = {}
        self.commit("start", None)

    def commit(self, message, name):
        for path, text in self.line.now.items():
            file = self.work / path
            file.parent.mkdir(exist_ok=True)
            if text is None:
                file.unlink(missing_ok=True)
            else:
                file.write_text(text)
        if name:
            message += f"\n\nCS-Id: {name}\nCS-Sum: {sum_of(name)}\n" \
                       "CS-Class: DC"
        git("add", "-A", cwd=self.work)
        git("commit", "-q", "--allow-empty", "-m", message, cwd=self.work)
        git("push", "-q", "origin", "main", cwd=self.work)
        if name:
            self.commits[name] = git("rev-parse", "HEAD",
                                     cwd=self.work).stdout.strip()

    def edit(self, text):
        lines = text.splitlines(keepends=True)
        for _ in range(self.random.randint(1, 2)):
            at = self.random.randrange(len(lines) + 1)
            kind = self.random.choice("idr")
            news = [i for i, line in enumerate(lines) if line[0] == "n"]
            if news and self.random.random() < 0.3:
                del lines[self.random.choice(news)]
            elif kind == "i" or at == len(lines):
                lines.insert(at, f"new {self.random.randrange(10)}\n")
            elif kind == "d" and len(lines) > 4:
                del lines[at]
            else:
                lines[at] = f"edit {self.random.randrange(10)}\n"
        return "".join(lines)

    def change(self, name):
        """A set, or a push if `name` is None."""
        changed = {}
        for path in self.random.sample(FILES, self.random.randint(1, 2)):
            before = self.line.now[path]
            after = None if before and self.random.random() < 0.03 else \
                self.edit(before or self.line.first[path])
            if after != before:
                changed[path] = (before, after)
        if not changed:
            return
        self.line.add(name, changed)
        self.commit(f"change {name}", name)

    def plain_revert(self, members):
        """Whether `git revert` can do the same."""
        git("checkout", "-q", "--detach", cwd=self.work)
        commits = [self.commits[name] for name in members]
        got = git("revert", "--no-edit", *commits, cwd=self.work, check=False)
        if got.returncode != 0 and "nothing to commit" in got.stdout:
            got.returncode = 0
        git("revert", "--abort", cwd=self.work, check=False)
        git("reset", "-q", "--hard", cwd=self.work)
        git("checkout", "-q", "main", cwd=self.work)
        return got.returncode == 0

    def roll_back(self, number, counts):
        able = [name for name, by in self.line.out_by.items() if not by]
        if not able:
            return
        members = self.random.sample(able, min(len(able),
                                               self.random.choice([1, 1, 2])))
        members = self.line.newest_first(members)
        rb = f"R{number}"
        words = []
        for name in members:
            words += ["--member", name, sum_of(name),
                      "RB" if name[0] == "R" else "DC", "0", "-"]
        before = self.read_tip()
        got = subprocess.run(
            [PROGRAM, "revert", "--id", rb, "--sum", sum_of(rb), "--target",
             "main", "--work", str(self.dir / "tmp" / "work"), "--submitter",
             "Rob <rob@x>", "--git", str(self.bare), "--branch", "main",
             *words], env=ENV, cwd=self.dir, capture_output=True, text=True)
        status = got.stdout.splitlines()[-1] if got.stdout else ""
        out_by = self.line.turned(rb, members)
        files, lost = self.line.replay(out_by)
        touched = self.line.touched(out_by)
        plain = all(name[0] == "C" for name in members) and \
            self.plain_revert(members)
        counts["rollbacks"] += 1
        counts["plain"] += plain
        if touched & lost:
            counts["refused"] += 1
            counts["plain refused"] += plain
            if not status.startswith("failed rb-conflict "):
                raise Broken(f"{rb}: '{status}', but the replay conflicts in "
                             f"{touched & lost}")
            if self.read_tip() != before:
                raise Broken(f"{rb} was refused, and the branch moved")
            return
        if not status.startswith("done "):
            raise Broken(f"{rb} of {members}: '{status}'")
        counts["empty"] += "is left to revert" in status
        git("pull", "-q", "--ff-only", "origin", "main", cwd=self.work)
        changed = {}
        for path in FILES:
            file = self.work / path
            text = file.read_text() if file.exists() else None
            now = self.line.now[path]
            if text != (files[path] if path in touched else now):
                raise Broken(f"{rb} of {members}: {path} is not the replay")
            if text != now:
                changed[path] = (now, text)
        self.line.add_rollback(rb, members, changed)

    def read_tip(self):
        return git("rev-parse", "main", cwd=self.bare).stdout

    def run(self, counts):
        for i in range(1, SETS + 1):
            if self.random.random() < 0.2:
                self.change(None)
            self.change(f"C{i}")
            if self.random.random() < 0.5:
                self.roll_back(i, counts)


def main():
    counts = dict.fromkeys(["rollbacks", "plain", "refused", "plain refused",
                            "empty"], 0)
    seeds = [int(os.environ["SEED"])] if "SEED" in os.environ else \
        range(HISTORIES)
    broken = []
    print("1..2")
    for seed in seeds:
        history = History(seed)
        try:
            history.run(counts)
        except Broken as why:
            broken.append(f"# SEED={seed}: {why}")
        shutil.rmtree(history.dir)
    shutil.rmtree(HOME)
    print("\n".join(broken))
    print(f"# {counts}")
    ok = not broken and counts["rollbacks"] > 0
    print("ok 1 - a_rollback_is_the_replay_of_what_survives" if ok else
          "not ok 1 - a_rollback_is_the_replay_of_what_survives")
    done = counts["plain"] - counts["plain refused"]
    enough = counts["plain"] > 0 and done >= 0.95 * counts["plain"]
    print(("ok" if enough else "not ok") + " 2 - "
          f"{done}_of_{counts['plain']}_rollbacks_of_git_revert_succeed")
    return 0 if ok and enough else 1


sys.exit(main())
