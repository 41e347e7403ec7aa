"""Judges what a random history (tests/scenario/histories.py) has left: the
branches, the records of checks and the list of jobs, against the sets that were
submitted. It reads repositories with git and shares no code with the product.
"""
import functools
import hashlib
import itertools
import subprocess

from replay import Line, merge

EMPTY = "0" * 40
# A file with the line POISON fails the check `one`; LEFT and RIGHT together,
# in two files, fail the check `two`.
POISON, LEFT, RIGHT = "poison\n", ("f1", "left\n"), ("f2", "right\n")


class Broken(Exception):
    pass


class Repository:
    """Reads the objects of a bare repository."""

    def __init__(self, path):
        self.path = path
        self.trees = {}
        self.cat = subprocess.Popen(["git", "cat-file", "--batch"], cwd=path,
                                    stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE)

    def close(self):
        self.cat.stdin.close()
        self.cat.stdout.close()
        self.cat.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.path, text=True,
                              capture_output=True, check=True).stdout

    def read(self, name):
        self.cat.stdin.write(name.encode() + b"\n")
        self.cat.stdin.flush()
        head = self.cat.stdout.readline().split()
        if len(head) != 3:
            raise Broken(f"{self.path}: object {name} cannot be read")
        content = self.cat.stdout.read(int(head[2]) + 1)[:-1]
        return head[1].decode(), content

    def tree(self, name):
        """The files of a commit or tree: {path: text}."""
        kind, content = self.read(name)
        if kind == "commit":
            name = content.split(b"\n", 1)[0].split()[1].decode()
            if name in self.trees:
                return self.trees[name]
            _, content = self.read(name)
        if name not in self.trees:
            files = {}
            while content:
                entry, rest = content.split(b"\0", 1)
                mode, path = entry.decode().split(" ", 1)
                oid, content = rest[:20].hex(), rest[20:]
                if mode == "40000":
                    for below, text in self.tree(oid).items():
                        files[f"{path}/{below}"] = text
                else:
                    files[path] = self.read(oid)[1].decode()
            self.trees[name] = files
        return self.trees[name]

    def line(self, tip):
        """The commits of a branch, oldest first: (oid, parents, trailers)."""
        out = self.git("log", "--first-parent", "--reverse",
                       "--format=%H %P%n%(trailers:only,unfold)%x01", tip)
        commits = []
        for part in out.split("\x01"):
            lines = part.strip("\n").split("\n")
            if lines == [""]:
                continue
            oid, *parents = lines[0].split()
            trailers = [tuple(line.split(": ", 1)) for line in lines[1:]
                        if ": " in line]
            commits.append((oid, parents, trailers))
        return commits

    def moves(self, branch):
        """The moves of the branch by its reflog: (old, new, message)."""
        file = self.path / "logs" / "refs" / "heads" / branch
        moves = []
        for line in file.read_text().splitlines():
            who, _, message = line.partition("\t")
            moves.append((*who.split()[:2], message))
        return moves

    def has(self, ancestor, oid):
        return subprocess.run(["git", "merge-base", "--is-ancestor", ancestor,
                               oid], cwd=self.path).returncode == 0


def digest(files):
    """What the checks of a history record of the files they see."""
    lines = sorted(("./" + path).encode() for path in files)
    text = b"".join(
        hashlib.sha256(files[path[2:].decode()].encode()).hexdigest().encode()
        + b"  " + path + b"\n" for path in lines)
    return hashlib.sha256(text).hexdigest()


def verdict(check, files):
    if check == "one":
        return not any(POISON in text for text in files.values())
    return not all(line in files.get(path, "") for path, line in (LEFT, RIGHT))


def difference(before, after):
    return {path: (before.get(path), after.get(path))
            for path in {**before, **after}
            if before.get(path) != after.get(path)}


def apply(one, files):
    """The files with the set applied, or None if it conflicts."""
    after = dict(files)
    for path, text in one.new.items():
        if one.base is None:
            ok, merged = True, text
        else:
            ok, merged = merge(one.base.get(path), files.get(path), text)
        if not ok:
            return None
        after[path] = merged
        if merged is None:
            del after[path]
    return after


class BranchJudge:
    """Walks over everything that the branch of a target has ever been."""

    def __init__(self, history, target):
        self.history = history
        self.target = target
        self.sets = history.sets
        self.repository = Repository(target.git)
        self.places = []  # the Line after each commit that it has ever had
        self.commits = {}  # every commit that it has ever had: oid -> its part

    def why(self, text):
        raise Broken(f"target '{self.target.name}': {text}")

    def judge(self, jobs):
        repository = self.repository
        tip = repository.git("rev-parse", self.target.branch).strip()
        moves = [move for move in repository.moves(self.target.branch)
                 if EMPTY not in move[:2]]
        self.forced = [(old, new) for old, new, _ in moves
                       if not repository.has(old, new)]
        for old, _ in self.forced:
            self.walk(old)
        self.now = self.walk(tip)
        self.files = repository.tree(tip)
        self.checked(moves)
        self.built()
        self.replayed()
        self.agrees(jobs)
        self.ends(jobs)

    # ---- the commits -----------------------------------------------------

    def walk(self, tip):
        commits = self.repository.line(tip)
        for commit in commits:
            self.commits[commit[0]] = self.part_of(commit)
        files = self.repository.tree(commits[0][0])
        line = Line(files)
        self.places.append(line)
        parts = itertools.groupby(
            commits[1:], lambda commit: self.part_of(commit))
        for (kind, name), group in parts:
            group = list(group)
            after = self.repository.tree(group[-1][0])
            line = self.step(line, kind, name, group, files, after)
            files = after
            self.places.append(line)
        return line

    @staticmethod
    def part_of(commit):
        trailers = dict(commit[2])
        if "CS-Id" not in trailers:
            return "push", commit[0]
        kind = "rollback" if trailers["CS-Class"] == "RB" else "set"
        return kind, trailers["CS-Id"]

    def step(self, line, kind, name, commits, before, after):
        new = line.copy()
        changed = difference(before, after)
        if kind == "push":
            if name not in self.history.pushed:
                self.why(f"commit {name} is from nobody")
            new.add(None, changed)
        elif kind == "set":
            if len(commits) > 1 or name in line.out_by:
                self.why(f"set {name} has landed twice")
            self.landed(name, commits[0], before, after)
            new.add(name, changed)
            new.shared += self.shared_of(name, commits[0])
        else:
            if name in line.out_by:
                self.why(f"rollback {name} was made twice")
            self.rolled_back(line, name, commits, before, after)
            new.add_rollback(name, self.members_of(commits), changed)
        return new

    def landed(self, name, commit, before, after):
        if name not in self.sets:
            self.why(f"nobody has submitted set {name}")
        one = self.sets[name]
        trailers = dict(commit[2])
        if one.target is not self.target or trailers["CS-Sum"] != one.sum:
            self.why(f"the commit of {name} is not of this set")
        want = apply(one, before)
        if want is None:
            self.why(f"set {name} has landed, but conflicts with its parent "
                     f"{commit[1]}")
        if want != after:
            self.why(f"set {name} has changed {difference(before, after)} "
                     f"instead of {difference(before, want)}")
        if one.guarded and not one.approved:
            self.why(f"set {name} has landed without approval")
        if one.guarded and "CS-Approved-By" not in trailers:
            self.why(f"the commit of set {name} names no approver")

    @staticmethod
    def shared_of(name, commit):
        """As the commit says; tests/scenario/test_revert.c tests whether that
        is so."""
        for key, value in commit[2]:
            if key == "CS-Contains":
                yield (name, *value.split(" ", 1))
            elif key == "CS-Overlaps":
                yield name, value, None

    @staticmethod
    def members_of(commits):
        """What the rollback has put out of effect itself: the first line of
        each commit. The other lines say what followed from that."""
        return list(dict.fromkeys(
            next(value for key, value in commit[2] if key == "Reverts-CS")
            for commit in commits))

    def rolled_back(self, line, name, commits, before, after):
        members = self.members_of(commits)
        out_by = line.turned(name, members)
        files, lost = line.replay(out_by)
        touched = line.touched(out_by)
        if touched & lost:
            self.why(f"rollback {name} of {members} was made, but the replay "
                     f"conflicts in {touched & lost}")
        for path in {*before, *after}:
            want = files.get(path) if path in touched else before.get(path)
            if after.get(path) != want:
                self.why(f"after rollback {name} of {members}, {path} is "
                         f"{after.get(path)!r} instead of {want!r}")
        # The newest of its commits that names a set counts.
        last = {value: key == "Restores-CS" for commit in commits
                for key, value in commit[2]
                if key in ("Reverts-CS", "Restores-CS")}
        wrong = {one for one, is_in in last.items()
                 if is_in != (out_by[one] == "")}
        wrong |= {one for one, by in line.out_by.items()
                  if bool(by) != bool(out_by[one]) and one not in last}
        if wrong:
            self.why(f"the commits of rollback {name} of {members} do not say "
                     f"what became of {wrong}")

    def checked(self, moves):
        """Every tip that a landing made has passed all checks."""
        for _, new, message in moves:
            if not message.startswith("pointsman: land "):
                continue
            self.has_passed(new, f"'{message}' made {new}")

    def has_passed(self, oid, what):
        """All checks have passed on exactly the tree of the commit."""
        files = self.repository.tree(oid)
        for check in self.target.checks:
            seen = self.history.checks.get((check, digest(files)), set())
            if not verdict(check, files):
                self.why(f"{what}, on which check '{check}' fails")
            if True not in seen:
                self.why(f"{what}, on which check '{check}' has not run")

    def built(self):
        """A merge train moves the branch over several sets at once; each set
        has passed all checks on the tree that its own commit has. Of a group
        only the last one has."""
        parts = list(self.commits.items())
        for (oid, (kind, name)), (_, (_, following)) in zip(
                parts, parts[1:] + [(None, (None, None))]):
            if kind == "set" and (following == name or following not in
                                  self.group_of(name)):
                self.has_passed(oid, f"set {name} is commit {oid}")

    def replayed(self):
        """The branch is the replay of the sets in effect and of the pushes."""
        files, lost = self.now.replay(self.now.out_by)
        files = {path: text for path, text in files.items()
                 if text is not None}
        wrong = {path for path in difference(files, self.files)
                 if path not in lost}
        if wrong:
            self.why(f"the branch is not the replay in {wrong}")
        for name, out in self.now.out_by.items():
            if out or name not in self.sets or self.forced:
                continue
            for below in self.sets[name].depends:
                if not any(self.now.out_by.get(each) == ""
                           for each in self.history.successors(below)):
                    self.why(f"{name} is in effect without {below}")

    # ---- the jobs --------------------------------------------------------

    def agrees(self, jobs):
        """The list of jobs says what the branch says."""
        gone = {name for line in self.places for name in line.out_by} \
            - set(self.now.out_by)
        if gone and not self.forced:
            self.why(f"{gone} have left the branch by themselves")
        self.gone = {name for name in gone if jobs[name]["state"] == "D"}
        for job in jobs.values():
            name, by = job["id"], job["rolled_back_by"]
            if job["target"] != self.target.name or \
                    job["kind"] != "change" or name in gone:
                continue
            is_there = name in self.now.out_by
            done = job["state"] == "D"
            if done and not is_there and job["class"] == "RB":
                self.had_nothing(name)
            elif is_there != done:
                self.why(f"{name} is {job['state']} ({job['reason']}), and is "
                         f"{'' if is_there else 'not '}on the branch")
            if is_there and self.now.out_by[name] != (by or "") and \
                    not self.forced:
                self.why(f"{name} is out of effect by "
                         f"'{self.now.out_by[name]}' on the branch, by '{by}' "
                         "in the registry")

    def had_nothing(self, name):
        """A rollback without commits: at some time, nothing of what it names
        was in effect."""
        still = [each for each in self.history.rollbacks[name]
                 if self.now.out_by.get(each) == ""
                 and not self.now.members.get(each)
                 and not any(line.out_by.get(each) for line in self.places)]
        if still and not self.forced:
            self.why(f"rollback {name} is done without commits, but {still} "
                     "are in effect")

    def ends(self, jobs):
        for job in jobs.values():
            if job["target"] == self.target.name and job["state"] in "FTA" \
                    and job["kind"] == "change":
                excuse = getattr(self, "end_" + job["reason"].replace("-", "_"),
                                 None)
                if excuse is None or not excuse(job, jobs):
                    self.why(f"{job['id']} ended {job['state']} "
                             f"({job['reason']}: {job['detail']}) for no "
                             "reason in its history")

    def group_of(self, name):
        one = self.sets.get(name)
        return [name] if one is None or one.group is None else \
            [each.id for each in self.sets.values() if each.group == one.group]

    def end_operator(self, job, _):
        return job["id"] in self.history.cancelled

    def end_rollback(self, job, jobs):
        return any(other["class"] == "RB" and other["state"] == "D"
                   for other in jobs.values())

    def applied(self, name):
        """The trees that the set, or its group in any order, makes of each
        tip."""
        for order in itertools.permutations(self.group_of(name)):
            for tip in self.commits:
                files = self.repository.tree(tip)
                for each in order:
                    files = files and apply(self.sets[each], files)
                yield files

    def end_check_failed(self, job, _):
        """A check failed on the set applied to a tip, not to other sets."""
        return any(files is not None and
                   False in self.history.checks.get((check, digest(files)), ())
                   for files in self.applied(job["id"])
                   for check in self.target.checks)

    def end_conflict(self, job, _):
        one = self.sets[job["id"]]
        return one.base is None or bool(self.forced) or \
            any(files is None for files in self.applied(job["id"]))

    def end_policy(self, job, _):
        return bool(self.forced)

    def end_dep_failed(self, job, jobs):
        return any(jobs[name]["state"] in "FTA"
                   for name in self.sets[job["id"]].depends if name in jobs)

    def end_dep_rolled_back(self, job, jobs):
        return any(name in line.out_by and line.out_by[name]
                   for name in self.sets[job["id"]].depends
                   for line in self.places)

    def end_dep_cycle(self, job, _):
        """It depends on itself through sets outside of its group, also through
        other groups and through sets that supersede others. A set alone may
        depend on one that it replaces itself, by way of a third one."""
        own, found = self.group_of(job["id"]), [job["id"]]
        for name in found:
            mates = self.group_of(name)
            for below in [below for mate in mates if mate in self.sets
                          for below in self.sets[mate].depends]:
                for each in self.history.successors(below):
                    if each in own and (each not in mates or len(own) == 1):
                        return True
                    if each not in found and each not in mates:
                        found.append(each)
        return False

    def end_superseded(self, job, _):
        """Two sets may not supersede the same one."""
        old = self.sets[job["id"]].supersedes
        return any(each.supersedes == old and each.id != job["id"]
                   for each in self.sets.values()) if old else False

    def end_group_failed(self, job, jobs):
        return any(jobs[name]["state"] in "FTA"
                   for name in self.group_of(job["id"])
                   if name != job["id"] and name in jobs)

    def end_rb_conflict(self, job, _):
        """There was a moment at which the replay conflicted. With closure =
        deps+files, a set may have landed after the members were chosen."""
        for line, files in itertools.product(
                self.places, {False, self.history.with_files}):
            members = self.closure(line, self.history.rollbacks[job["id"]],
                                   files)
            out_by = line.turned("?", members)
            if line.touched(out_by) & line.replay(out_by)[1]:
                return True
        return False

    def closure(self, line, primaries, files):
        """What is on the line and goes with the primaries, newest first."""
        members = {name for name in primaries if name in line.out_by}
        while True:
            more = {name for name in line.out_by
                    if name in self.sets and name not in members and
                    (any(each in members
                         for below in self.sets[name].depends
                         for each in self.history.successors(below)) or
                     any(each in members for each in self.group_of(name)) or
                     files and self.follows(line, name, members))}
            for name in members:
                more |= line.restored.get(name, set()) - members
            if not more:
                break
            members |= more
        return line.newest_first(members)

    def follows(self, line, name, members):
        """The set landed behind a member on one of its files."""
        order = list(line.out_by)
        return any(each in self.sets and
                   order.index(each) < order.index(name) and
                   {*self.sets[each].new} & {*self.sets[name].new}
                   for each in members)

    def end_rb_lacks(self, job, _):
        return True

    def end_rb_absent(self, job, _):
        return bool(self.forced)

    def end_rb_target(self, job, _):
        names = self.history.rollbacks[job["id"]]
        return len({self.sets[name].target.name for name in names
                    if name in self.sets}) > 1


def waits_rightly(history, jobs):
    """The sets that still wait although nothing prevents them."""
    live = {name for name, job in jobs.items() if job["state"] in "QSPX"}
    right = set()
    for name in live:
        job, one = jobs[name], history.sets.get(name)
        if "ambiguous" in job["holds"]:
            raise Broken(f"{name} is held as ambiguous")
        if "operator" in job["holds"] and name in history.held:
            right.add(name)
        if one is None:
            continue
        if "approval" in job["holds"] and one.guarded and not one.approved:
            right.add(name)
        if one.group and sum(
                each.group == one.group and each.id in jobs
                for each in history.sets.values()) < one.count:
            right.add(name)
        if one.group and any(
                each.group == one.group and each.id in jobs and
                jobs[each.id]["state"] in "FTA"
                for each in history.sets.values()):
            right.add(name)  # it came later and has begun a new group
        if job["reason"] == "base-lost" and history.force:
            right.add(name)
        if any(below not in jobs for below in one.depends):
            right.add(name)
    while True:
        more = {name for name in live - right
                if any(waits_for(history, name, other) for other in right)}
        if not more:
            return live - right
        right |= more


def waits_for(history, name, other):
    one, two = history.sets.get(name), history.sets.get(other)
    if one is None or two is None:
        return False
    return other in one.depends or two.supersedes in one.depends or \
        bool(one.group and one.group == two.group) or \
        (one.target is two.target and bool({*one.new} & {*two.new}))
