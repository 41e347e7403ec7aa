"""What a branch must contain: sets and pushes merged path by path, and after a
rollback the replay of what survives. It shares no code with the product, except
`git merge-file`.

A file is its text, or None if it is deleted or absent.
"""
import functools
import pathlib
import subprocess
import tempfile


@functools.lru_cache(maxsize=None)
def merge(base, ours, theirs):
    """Whether the merge is clean, and its result."""
    if theirs in (base, ours):
        return True, ours
    if ours == base:
        return True, theirs
    if None in (base, ours, theirs):
        return False, None
    with tempfile.TemporaryDirectory() as name:
        sides = ("ours", ours), ("base", base), ("theirs", theirs)
        for side, text in sides:
            (pathlib.Path(name) / side).write_text(text)
        got = subprocess.run(["git", "merge-file", "-p", "-q", "ours", "base",
                              "theirs"], cwd=name, capture_output=True,
                             text=True)
    if got.returncode == 0:
        return True, got.stdout
    joined = join(base, ours, theirs)
    if joined is None:
        joined = join(base, theirs, ours)
    return joined is not None, joined


def stretch(base, side):
    """The lines of the base that the side changes, from the first to the
    last, and what it has there."""
    most = min(len(base), len(side))
    same = next((i for i in range(most) if base[i] != side[i]), most)
    tail = next((i for i in range(most - same)
                 if base[-1 - i] != side[-1 - i]), most - same)
    return same, len(base) - tail, side[same:len(side) - tail]


def join(base, first, second):
    """Where lines repeat, git may place a change next to one of the other side
    although a line can be found that lies between them. Then they are merged
    around that line; None: there is none."""
    base, first, second = (text.splitlines(keepends=True)
                           for text in (base, first, second))
    begin, end, new = stretch(base, first)
    later, last, newer = stretch(base, second)
    if end >= later:
        return None
    return "".join(base[:begin] + new + base[end:later] + newer + base[last:])


class Line:
    """The commits of a branch in their order, and which of them are in
    effect."""

    def __init__(self, first):
        self.first = dict(first)
        self.now = dict(first)
        self.events = []   # (set, rollback, or None: a push,
        #                     {path: (before, after)})
        self.out_by = {}   # set or rollback -> the rollback that put it out
        #                    of effect, or "": it is in effect
        self.members = {}  # rollback -> what it has put out of effect itself,
        #                    newest first
        self.restored = {}  # rollback -> what came in effect again with it
        self.since = {}    # set or rollback -> grows with the time at which it
        #                    last came into effect
        self.shared = []   # (set, another one before it, path): it did all
        #                    that the other did there; path None: it did some

    def copy(self):
        other = Line(self.first)
        other.now, other.events = dict(self.now), list(self.events)
        other.out_by, other.members = dict(self.out_by), dict(self.members)
        other.restored, other.since = dict(self.restored), dict(self.since)
        other.shared = list(self.shared)
        return other

    def add(self, name, changed):
        """A set landed; or, if `name` is None, somebody pushed."""
        self.events.append((name, changed))
        for path, (_, after) in changed.items():
            self.now[path] = after
        if name:
            self.out_by[name] = ""
            self.since[name] = max(self.since.values(), default=0) + 1

    def turn(self, name, by, out, out_by, order):
        """A rollback that goes out of effect restores its members, the oldest
        first; `order` gets what turns, a rollback behind its members."""
        if out_by.get(name) != ("" if out else by):
            return
        out_by[name] = by if out else ""
        members = self.members.get(name, [])
        for member in reversed(members) if out else members:
            self.turn(member, name, not out, out_by, order)
        order.append(name)

    def turned(self, rollback, members, order=None):
        """`out_by` as it will be after the rollback."""
        out_by = dict(self.out_by)
        for name in members:
            self.turn(name, rollback, True, out_by,
                      order if order is not None else [])
        return out_by

    def newest_first(self, names):
        return sorted(names, key=self.since.get, reverse=True)

    def add_rollback(self, rollback, members, changed):
        order, before = [], self.out_by
        out_by = self.turned(rollback, members, order)
        for name in order:
            if not out_by[name]:
                self.since[name] = max(self.since.values()) + 1
        self.add(rollback, changed)
        self.out_by = out_by
        self.out_by[rollback] = ""
        self.members[rollback] = [name for name in members
                                  if out_by[name] == rollback]
        self.restored[rollback] = {name for name, by in before.items()
                                   if by and not out_by[name]}

    def is_turned(self, name, out_by):
        return bool(self.out_by[name]) != bool(out_by[name])

    def paths_of(self, names):
        return {path for name, changed in self.events if name in names
                for path in changed} | {
            path for name, _, path in self.shared if name in names and path}

    def touched(self, out_by):
        """The paths of the sets whose effect differs from that in out_by."""
        return self.paths_of({name for name, _ in self.events
                              if name and name not in self.members
                              and self.is_turned(name, out_by)})

    def is_kept(self, name, path, out_by):
        return any(other == name and where == path and not out_by[by]
                   for by, other, where in self.shared)

    def parted(self, out_by):
        """The paths of sets that share a part, and of which only one is to be
        in effect."""
        return self.paths_of({
            name for by, other, path in self.shared
            if path is None and not out_by[by] and out_by[other]
            and (self.is_turned(by, out_by) or self.is_turned(other, out_by))
            for name in (by, other)})

    def replay(self, out_by):
        """The files, and the paths that conflict. A change that conflicts may
        be taken together with those after it, if all of them are in effect."""
        files, lost = dict(self.first), self.parted(out_by)
        for path in {path for _, changed in self.events for path in changed}:
            steps = [(name in self.members or bool(name and out_by[name]) and
                      not self.is_kept(name, path, out_by),
                      *changed[path])
                     for name, changed in self.events if path in changed]
            ok, files[path] = self.replay_path(self.first.get(path), steps)
            if not ok:
                lost.add(path)
        return files, lost

    @staticmethod
    def replay_path(now, steps):
        i = 0
        while i < len(steps):
            out, before, _ = steps[i]
            if out:
                i += 1
                continue
            end = i
            while end + 1 < len(steps) and not steps[end + 1][0]:
                end += 1
            to, more = i, 1
            while True:
                ok, merged = merge(before, now, steps[to][2])
                if ok or to == end:
                    break
                to, more = min(to + more, end), more * 2
            if not ok:
                return False, None
            now, i = merged, to + 1
        return True, now
