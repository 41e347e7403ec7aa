"""Random histories of the whole program, compared with an independent replay;
TAP.

    python3 histories.py POINTSMAN FAULTY [FIRST LAST]

Each seed from FIRST (1) to LAST (3; with POINTSMAN_SWEEP=once only FIRST) is a
history: a real server, git repositories and files; sets, groups, stacks,
approvals, holds, cancellations, strangers who push (some with force),
repositories that disappear for a while, rollbacks of rollbacks, and SIGKILL to
all processes or to one of them. The moment of a kill is a number of events that
the server records, or of system calls that its processes make
(tests/support/faulty.c). In the end everything that can happen has happened, and
tests/support/history_judge.py judges what is left. SEED=N repeats one history,
KEEP=DIR keeps the directory of each that fails.
"""
import ctypes
import hashlib
import io
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from history_judge import (LEFT, POISON, RIGHT, Broken, BranchJudge,
                           Repository, verdict, waits_rightly)
from processes import processes_below

PROGRAM, FAULTY = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
SETS = 15
TIMEOUT_S = 600
AGAIN = {69, 75, 111}  # the server is starting or has just been killed
LETTERS = {"queued": "Q", "staged": "S", "pending": "P", "executing": "X",
           "done": "D", "failed": "F", "terminated": "T", "abandoned": "A"}
ENDED = {"done", "failed", "terminated", "abandoned"}
CAME = 137             # the exit status of faulty after its fault
SUBREAPER = 36         # PR_SET_CHILD_SUBREAPER
FILES = ["f0", "f1", "f2", "f3", "d/e", "sec/s"]


def git(*words, cwd, data=None, check=True):
    got = subprocess.run(["git", *words], cwd=cwd, capture_output=True,
                         input=data, env=ENV)
    if check and got.returncode != 0:
        raise Broken(f"git {words}: {got.stderr.decode()}")
    return got.stdout.decode().strip() if got.returncode == 0 else None


class Set:
    """A set that was submitted, or may have been."""

    def __init__(self, name, target, base, new, depends=(), supersedes=None,
                 group=None, count=0):
        self.id, self.target, self.base, self.new = name, target, base, new
        self.depends, self.supersedes = list(depends), supersedes
        self.group, self.count = group, count
        self.guarded = any(path.startswith("sec/") for path in new)
        self.approved = False
        self.sum = None


class Target:
    def __init__(self, name, repository, branch, work):
        self.name, self.git, self.branch = name, repository, branch
        self.work = work
        self.checks = []


class History:
    def __init__(self, seed, home):
        self.random = random.Random(seed)
        self.began = time.monotonic()
        self.dir = home / f"h{seed}"
        self.base = self.dir / "base"
        self.said = []        # what was done, for people
        self.sets = {}
        self.rollbacks = {}   # id -> what it names
        self.held, self.cancelled, self.pushed = set(), set(), set()
        self.packed = []      # the sets of stacks; their sums are unknown
        self.commands = {}    # id -> whether it runs at most once
        self.retries = []
        self.unclear_rollbacks = False
        self.away = None      # a function that ends the absence of a target
        self.server = None
        self.seq = 0          # of the last event that was read
        self.asked_again = False
        self.number = 0
        self.checks = {}      # (check, digest) -> verdicts
        self.force = self.random.random() < 0.2
        self.with_files = self.random.random() < 0.3
        self.prepare()

    # ---- a base ----------------------------------------------------------

    def prepare(self):
        self.dir.mkdir()
        two_repositories = self.random.random() < 0.6
        main = self.make_repository("main.git", "main")
        if two_repositories:
            side = Target("side", self.make_repository("side.git", "main"),
                          "main", self.dir / "side")
        else:
            git("branch", "side", "main", cwd=main)
            side = Target("side", main, "side", self.dir / "side")
        self.targets = [Target("main", main, "main", self.dir / "main"), side]
        for target in self.targets:
            git("clone", "-q", str(target.git), str(target.work), cwd=self.dir)
        self.run("init", "--target", f"main={main}", str(self.base))
        key = self.dir / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                        "judge", "-f", str(key)], check=True)
        public = (self.dir / "key.pub").read_text()
        (self.base / "allowed_signers").write_text(
            f'judge@example.org namespaces="cq-approve" {public}')
        (self.dir / "check").write_text(f"""\
d=$(find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum)
case $1 in
one) ! grep -rqx poison . ;;
two) ! {{ grep -qsx left f1 && grep -qsx right f2; }} ;;
esac
v=$?
echo "$1 ${{d%% *}} $v $POINTSMAN_CSID" >>'{self.dir}/checks'
exit $v
""")
        (self.dir / "checks").touch()
        self.configure()

    def make_repository(self, name, branch):
        bare = self.dir / name
        git("init", "-q", "--bare", "-b", branch, str(bare), cwd=self.dir)
        git("config", "core.logAllRefUpdates", "always", cwd=bare)
        start = {path: "".join(f"{path} {i}\n" for i in range(12))
                 for path in FILES}
        self.commit(bare, branch, None, start)
        return bare

    def configure(self):
        draw = self.random
        text = "[serve]\nlisten = off\n" \
            "[approval \"sec\"]\npath = sec/**\nclass = EM,BF,DC\n" \
            "signed = yes\n" \
            f"[queue]\nconcurrency = {draw.choice([2, 4, 8])}\ngrace = 1\n" \
            "drain = 5\nhup-grace = 1\npoll = 1\nmax-crash = 1000\n" \
            "max-temp = 1000\n" \
            f"closure = {'deps+files' if self.with_files else 'deps'}\n"
        for target in self.targets:
            target.checks = draw.choice([["one", "two"], ["two", "one"],
                                         ["one"], ["two"]])
            text += f"[target \"{target.name}\"]\ngit = {target.git}\n" \
                f"branch = {target.branch}\nlanes = {draw.randint(1, 8)}\n"
            for check in target.checks:
                text += f"check.{check} = sh '{self.dir}/check' {check}\n"
        (self.base / "conf.d").mkdir()
        (self.base / "conf.d" / "history.conf").write_text(text)
        self.note(re.sub(r"\n", "; ", text))

    # ---- processes -------------------------------------------------------

    def note(self, text):
        self.said.append(f"{time.monotonic() - self.began:.1f} {text}")

    def start(self):
        words = [PROGRAM, "serve"]
        if self.random.random() < 0.3:
            words = [FAULTY, *self.fault(), "--", *words]
        self.note(" ".join(words))
        with open(self.dir / "serve.log", "w") as log:
            self.server = subprocess.Popen(words, env=self.env(),
                                           cwd=self.dir, stderr=log,
                                           stdout=log,
                                           stdin=subprocess.DEVNULL)

    def fault(self):
        """SIGKILL at a random system call of the program or of git, to the
        process that makes it or to all."""
        way = self.random.choice(["one", "all"])
        # Not to a part of a check, which would then be wrong.
        words = [" serve", " guard", " land", "git "]
        return ["--kill", way, "--at",
                str(int(10 ** self.random.uniform(0, 3))), "--only",
                self.random.choice(words)]

    def server_pid(self):
        """The process of the server; below faulty if it is traced."""
        if self.server.args[0] != FAULTY:
            return self.server.pid
        pids = [pid for pid, (parent, _) in self.processes().items()
                if parent == self.server.pid]
        return min(pids, default=None)

    def stop(self):
        """Stops the server as an operator does."""
        if self.server is None:
            return
        self.note("stop")
        log, end = self.dir / "serve.log", time.monotonic() + TIMEOUT_S
        while " serving " not in log.read_text():
            code = self.server.poll()
            if code == CAME:
                break
            if code is not None or time.monotonic() > end:
                raise Broken(f"serve does not serve: {log.read_text()}")
        pid = self.server_pid()
        if pid is not None:
            self.kill(pid, signal.SIGTERM)
        if self.server.wait(TIMEOUT_S) not in (0, CAME) and \
                "the supervisor died" not in log.read_text():
            raise Broken(f"serve ended with {self.server.returncode}")
        self.server = None

    @staticmethod
    def kill(pid, number=signal.SIGKILL):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def processes():
        """All processes below this one: {pid: (parent, command line)}.
        Orphans come to this process."""
        found = {}
        for pid, (_, state, parent, _) in processes_below().items():
            if state in "ZX":
                continue
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                found[pid] = (parent, words.replace(b"\0", b" ").decode())
            except OSError:
                pass
        return found

    def kill_all(self):
        """SIGKILL to everything, until nothing is left."""
        self.note("kill all")
        while True:
            found = list(self.processes())
            self.random.shuffle(found)
            for pid in found:
                self.kill(pid)
            self.reap()
            if not found:
                break
        if self.server is not None:
            self.server.wait()
        self.server = None

    @staticmethod
    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass

    def kill_one(self):
        """SIGKILL to one process of the program, to one git or to a check.
        A part of a check is left alone, because the check would then be
        wrong."""
        processes = self.processes()
        found = {pid: line for pid, (parent, line) in processes.items()
                 if line.split(" ")[0].rpartition("/")[2] in
                 ("pointsman", "git") or
                 "/check " in line and " land" in processes.get(parent,
                                                                (0, ""))[1]}
        if not found:
            return
        words = self.random.choice([" serve", " guard", " land", "git ",
                                    "/check ", ""])
        able = [pid for pid, line in found.items() if words in line] or \
            list(found)
        pid = self.random.choice(able)
        self.note(f"kill {found[pid]}")
        ours = self.server is not None and pid == self.server_pid()
        self.kill(pid)
        if ours:
            self.server.wait()
            self.server = None

    def run_on(self, count):
        """Lets the server run until it has recorded this number of events.
        Commands that are submitted one after another cause them in any
        case."""
        self.note(f"{count} events")
        follower = subprocess.Popen(
            [PROGRAM, "events", "-f", "--json", "--after", str(self.seq)],
            env=self.env(), cwd=self.dir, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT_S
        begun, ended, seen, rest = None, True, 0, b""
        while seen < count and self.server.poll() is None:
            if ended:
                name, ended = self.submit_command(), False
                begun = begun or name
            if time.monotonic() > end:
                raise Broken(f"{name} does not run")
            if not select.select([follower.stdout], [], [], 1)[0]:
                continue
            piece = os.read(follower.stdout.fileno(), 65536)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\n")
            for event in map(json.loads, lines):
                self.seq = int(event["seq"])
                seen += seen > 0 or event.get("id") == begun
                ended = ended or (event.get("id") == name and
                                  event.get("to") in ENDED)
        follower.kill()
        follower.communicate()

    def env(self):
        return {**ENV, "POINTSMAN_BASE": str(self.base)}

    def call(self, *words, killed=False):
        """Runs the program; None if it was killed, with all processes, at one
        of its system calls."""
        fault = [FAULTY, "--kill", "one", "--at",
                 str(self.random.randint(1, 20)), "--"] if killed else []
        child = subprocess.Popen([*fault, PROGRAM, *words], env=self.env(),
                                 cwd=self.dir, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        try:
            out, err = child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Broken(f"{words} did not end")
        if killed:
            self.kill_all()
            return None
        return child.returncode, out, err

    def run(self, *words):
        """Runs the program until it has an answer; returns its output."""
        code, out, err = self.answer(*words)
        if code != 0:
            raise Broken(f"{words}: {code} {err}")
        return out

    def answer(self, *words):
        """Runs the program until it has an answer. `asked_again`: the server
        died meanwhile, perhaps after it had done what was asked."""
        end = time.monotonic() + TIMEOUT_S
        self.asked_again = False
        while True:
            got = self.call("-q", *words)
            if got[0] not in AGAIN:
                return got
            self.asked_again = True
            self.restart()
            if time.monotonic() > end:
                raise Broken(f"{words}: {got}")

    def change(self, *words):
        """Runs a command of an operator, and sometimes kills everything
        meanwhile; None if so."""
        self.note(" ".join(words))
        if self.random.random() < 0.06:
            return self.call("-q", *words, killed=True)
        return self.answer(*words)

    def jobs(self):
        out = self.run("list", "--all", "--json")
        jobs = {job["id"]: job for job in map(json.loads, out.splitlines())}
        for job in jobs.values():
            job["state"] = LETTERS[job["state"]]
        return jobs

    # ---- repositories ----------------------------------------------------

    def commit(self, repository, branch, parent, changed):
        """Makes a commit on a branch of the repository and returns it."""
        stream = io.BytesIO()
        stream.write(f"commit refs/heads/{branch}\ncommitter S <s@example.org>"
                     f" {1700000000 + self.number} +0000\ndata 4\nwork\n"
                     .encode())
        if parent:
            stream.write(f"from {parent}\n".encode())
        for path, text in changed.items():
            if text is None:
                stream.write(f"D {path}\n".encode())
            else:
                stream.write(f"M 100644 inline {path}\ndata "
                             f"{len(text.encode())}\n{text}\n".encode())
        git("fast-import", "--quiet", "--force", cwd=repository,
            data=stream.getvalue())
        return git("rev-parse", f"refs/heads/{branch}", cwd=repository)

    def tip(self, target):
        return git("rev-parse", "-q", "--verify",
                   f"refs/heads/{target.branch}", cwd=target.git)

    def seen(self, target):
        """A commit of the branch that somebody works on, and its files."""
        line = git("rev-list", "--first-parent", "-n", "4", target.branch,
                   cwd=target.git).split()
        oid = line[0] if self.random.random() < 0.7 else \
            self.random.choice(line)
        with Repository(target.git) as repository:
            return oid, dict(repository.tree(oid))

    def edit(self, path, text):
        draw = self.random
        lines = text.splitlines(keepends=True)
        for _ in range(draw.randint(1, 2)):
            at = draw.randrange(len(lines) + 1)
            way = draw.random()
            if way < 0.5 or at == len(lines):
                lines.insert(at, f"new {draw.randrange(1000)}\n")
            elif way < 0.7 and len(lines) > 4:
                del lines[at]
            else:
                lines[at] = f"edit {draw.randrange(1000)}\n"
        if POISON in lines:
            lines.remove(POISON)
        elif draw.random() < 0.06:
            lines.insert(draw.randrange(len(lines) + 1), POISON)
        for name, line in (LEFT, RIGHT):
            if name == path and line in lines and draw.random() < 0.5:
                lines.remove(line)
            elif name == path and line not in lines and draw.random() < 0.4:
                lines.insert(draw.randrange(len(lines) + 1), line)
        return "".join(lines)

    def work(self, files):
        """Random changes: {path: text or None}."""
        new = {}
        for _ in range(self.random.choice([1, 1, 2])):
            way = self.random.random()
            path = self.random.choice(
                sorted(path for path in files if not path.startswith("sec/"))
                if self.random.random() < 0.8 else sorted(files))
            if way < 0.06 and len(files) > 4:
                new[path] = None
            elif way < 0.15:
                new[f"n/{self.random.randrange(6)}"] = \
                    f"{self.random.randrange(1000)}\n" * 5
            else:
                new[path] = self.edit(path, files[path])
        new = {path: text for path, text in new.items()
               if files.get(path) != text}
        return new or self.work(files)

    # ---- what people do --------------------------------------------------

    def next_id(self, letter):
        self.number += 1
        return f"{letter}{self.number}"

    def pick_target(self):
        target = self.random.choice(self.targets)
        return None if self.away and target.git == self.away[0] else target

    def relations(self, target, jobs):
        """Dependencies, and what the new set supersedes."""
        names = [name for name in jobs
                 if name in self.sets and self.sets[name].target is target]
        depends, supersedes = [], None
        if names and self.random.random() < 0.3:
            depends = self.random.sample(names, min(len(names),
                                                    self.random.choice([1, 2])))
        elif self.random.random() < 0.02:
            depends = [self.next_id("never")]
        ended = [name for name in names
                 if jobs[name]["state"] in "FTA" and not any(
                     one.supersedes == name for one in self.sets.values())]
        if ended and self.random.random() < 0.3:
            supersedes = self.random.choice(ended)
            depends = [name for name in depends if name != supersedes]
        return depends, supersedes

    def make(self, target, jobs, group=None, count=0):
        """Makes a set and its tarball."""
        oid, files = self.seen(target)
        new = self.work(files)
        depends, supersedes = self.relations(target, jobs)
        blind = self.random.random() < 0.08
        one = Set(self.next_id("C"), target, None if blind else files, new,
                  depends, supersedes, group, count)
        meta = {"movetype": self.random.choice(["DC", "DC", "BF", "EM"]),
                "target": target.name,
                "base": "" if blind else oid,
                "files": "\n".join(path for path in new if new[path]
                                   is not None),
                "deleted": "\n".join(path for path in new if new[path] is None),
                "dependencies": "\n".join(depends),
                "supersedes": supersedes or "",
                "group": f"{group} {count}" if group else ""}
        text = "".join(f"##{key}\n{value}\n" for key, value in meta.items()
                       if value)
        label = 0x400000000000000a + int(time.time()) - 1000
        name = f"{one.id}_@{label:016x}{self.number:08x}_1_host_" \
            f"{meta['movetype']}"
        file = self.dir / name
        with tarfile.open(file, "w") as tar:
            for path, content in [("meta", text)] + \
                    [("lroot/" + path, new[path]) for path in new]:
                if content is not None:
                    info = tarfile.TarInfo(path)
                    info.size = len(content.encode())
                    tar.addfile(info, io.BytesIO(content.encode()))
        one.sum = hashlib.sha256(file.read_bytes()).hexdigest()
        self.sets[one.id] = one
        return one, file

    def submit(self, one, file):
        if self.random.random() < 0.3:
            self.note(f"drop {one.id}")
            shutil.copy(file, self.base / "tmp" / file.name)
            os.rename(self.base / "tmp" / file.name,
                      self.base / "data" / file.name)
            marker = self.base / "tmp" / (file.name + ".marker")
            marker.touch()
            os.rename(marker, self.base / "prequeue" / file.name)
            return
        got = self.change("change", "submit", str(file))
        if got is None:
            self.restart()
            got = self.answer("change", "submit", str(file))
        if got[0] == 100 and "bad-supersedes" in got[2]:
            del self.sets[one.id]  # a rollback has given back the other
        elif got[0] != 0 and "duplicate-csid" not in got[2]:
            raise Broken(f"set {one.id} was refused: {got}")

    def do_set(self, jobs):
        target = self.pick_target()
        if target:
            self.submit(*self.make(target, jobs))

    def do_group(self, jobs):
        target = self.pick_target()
        if not target:
            return
        group, count = self.next_id("g"), self.random.choice([2, 2, 3])
        made = [self.make(target, jobs, group, count) for _ in range(count)]
        if self.random.random() < 0.1:
            one, _ = made.pop()
            del self.sets[one.id]  # it never arrives
        for one, file in made:
            self.submit(one, file)

    def do_stack(self, _):
        target = self.pick_target()
        if not target:
            return
        oid, files = self.seen(target)
        git("fetch", "-q", cwd=target.work)
        name, ones, top = self.next_id("S"), [], oid
        for i in range(self.random.choice([2, 3])):
            new = self.work(files)
            top = self.commit(target.work, name, top, new)
            one = Set(f"{name}-{i + 1}", target, dict(files), new,
                      [ones[-1].id] if ones else [])
            ones.append(one)
            files = {path: text for path, text in {**files, **new}.items()
                     if text is not None}
        self.sets.update({one.id: one for one in ones})
        words = ("change", "pack", "--stack", "--submit", "--id", name,
                 "--target", target.name, "-C", str(target.work),
                 f"{oid}..{name}")
        got = self.change(*words)
        if got is None:
            self.restart()
            # Packing again makes other bytes, so what has not arrived is left
            # out, and nothing can follow it.
        elif got[0] != 0 and not self.asked_again:
            raise Broken(f"stack {name} was refused: {got}")
        self.packed += ones

    def do_push(self, _):
        target = self.pick_target()
        if not target:
            return
        tip = self.tip(target)
        if self.force and self.random.random() < 0.25:
            with Repository(target.git) as repository:
                back = self.random.choice(
                    repository.moves(target.branch)[-3:])[0]
            if set(back) == {"0"}:
                return
            self.note(f"push --force {target.name} {back}")
            git("fetch", "-q", cwd=target.work)
            git("push", "-q", "--force", "origin",
                f"{back}:refs/heads/{target.branch}", cwd=target.work,
                check=False)
            return
        with Repository(target.git) as repository:
            files = dict(repository.tree(tip))
        new = self.work(files)
        if self.random.random() < 0.8:
            new = {path: text and text.replace(POISON, "")
                   for path, text in new.items()}
        self.push(target, tip, new)

    def push(self, target, tip, new):
        git("fetch", "-q", cwd=target.work)
        name = self.next_id("push")
        oid = self.commit(target.work, name, tip, new)
        self.pushed.add(oid)
        self.note(f"push {target.name} {oid}")
        git("push", "-q", "origin", f"{oid}:refs/heads/{target.branch}",
            cwd=target.work, check=False)

    def do_hold(self, jobs):
        live = self.live(jobs)
        if live:
            name = self.random.choice(live)
            self.held.add(name)
            self.change("hold", name)

    def do_release(self, jobs):
        held = [name for name in jobs if "operator" in jobs[name]["holds"]]
        if held:
            name = self.random.choice(held)
            got = self.change("release", name)
            if got is not None and got[0] == 0:
                self.held.discard(name)

    def do_cancel(self, jobs):
        live = self.live(jobs)
        if live:
            name = self.random.choice(live)
            self.cancelled.add(name)
            kill = self.random.choice([["--kill"], []])
            self.change("cancel", *kill, name)

    def do_approve(self, jobs):
        able = [one for one in self.sets.values()
                if one.guarded and not one.approved and one.id in jobs]
        if able:
            self.approve(self.random.choice(able))

    def approve(self, one):
        one.approved = True  # from now on it may land
        words = ("approve", "--sign-with", str(self.dir / "key"), "--as",
                 "judge@example.org", one.id)
        if self.change(*words) is None:
            self.restart()
            self.answer(*words)

    def do_command(self, _):
        self.submit_command(self.change)

    def submit_command(self, submit=None):
        name = self.next_id("J")
        once = self.random.random() < 0.5
        self.commands[name] = once
        words = ["--at-most-once"] if once else []
        (submit or self.answer)(
            "submit", "--id", name, *words, "--", "sh", "-c",
            f"echo ran >>'{self.dir}/ran.{name}'; "
            f"test -e '{self.dir}/may.{name}'")
        return name

    def do_retry(self, jobs):
        names = [name for name in self.commands
                 if name in jobs and jobs[name]["state"] == "F"]
        if names:
            name = self.random.choice(names)
            (self.dir / f"may.{name}").touch()
            self.retries.append(name)
            self.change("retry", name)
        ended = [name for name in self.sets
                 if name in jobs and jobs[name]["state"] in "FTA"]
        if ended:
            got = self.change("retry", self.random.choice(ended))
            if got is not None and got[0] == 0:
                raise Broken("a set that ended was tried again")

    def do_rollback(self, jobs):
        able = [name for name, job in jobs.items()
                if job["kind"] == "change" and job["state"] in "DQSPX"
                and not job["rolled_back_by"]]
        done = [name for name in able if jobs[name]["state"] == "D"]
        if done and self.random.random() < 0.8:
            able = done
        if not able:
            return
        name = self.random.choice(able)
        names = [name]
        others = [each for each in able if each != name and
                  jobs[each]["target"] == jobs[name]["target"]]
        if others and self.random.random() < 0.2:
            names.append(self.random.choice(others))
        got = self.change("rollback", *names)
        if got is not None and got[0] == 0:
            self.rollbacks[got[1].strip()] = names
        if got is None or got[0] != 0 or self.asked_again:
            self.unclear_rollbacks = True

    def do_absence(self, _):
        if self.away:
            self.end_absence()
            return
        target = self.random.choice(self.targets)
        ref = target.git / "refs" / "heads" / target.branch
        if self.random.random() < 0.3 and ref.exists():
            thing = ref
        else:
            thing = target.git
        aside = self.dir / (thing.name + ".aside")
        self.note(f"{thing.name} is moved away")
        os.rename(thing, aside)
        self.away = target.git, thing, aside

    def end_absence(self):
        _, thing, aside = self.away
        self.note(f"{thing.name} is back")
        if thing.is_dir():
            raise Broken(f"somebody has created {thing}")
        if not thing.exists():  # else a move of the branch was under way
            os.rename(aside, thing)
        self.away = None

    def do_kill(self, _):
        self.restart()
        self.run_on(self.random.randint(0, 12))
        if self.random.random() < 0.5:
            self.kill_all()
        else:
            self.kill_one()
        if self.random.random() < 0.8:
            self.restart()

    def do_stop(self, _):
        self.restart()
        self.stop()
        self.restart()

    def do_wait(self, _):
        self.restart()
        self.run_on(self.random.randint(1, 30))

    def restart(self):
        if self.server is not None and self.server.poll() is not None:
            self.server = None
        if self.server is None:
            self.start()

    def live(self, jobs):
        return [name for name, job in jobs.items()
                if job["kind"] == "change" and job["state"] in "QSPX"]

    def successors(self, name):
        """The set and those that supersede it."""
        found = [name]
        for each in found:
            found += [one.id for one in self.sets.values()
                      if one.supersedes == each and one.id not in found]
        return found

    # ---- a history -------------------------------------------------------

    def play(self):
        self.restart()
        ways = {self.do_set: 10, self.do_group: 2, self.do_stack: 2,
                self.do_push: 4, self.do_hold: 2, self.do_release: 2,
                self.do_cancel: 2, self.do_approve: 3, self.do_command: 1,
                self.do_retry: 1, self.do_rollback: 5, self.do_absence: 2,
                self.do_kill: 6, self.do_stop: 1, self.do_wait: 8}
        while len(self.sets) < SETS:
            way, = self.random.choices(list(ways), list(ways.values()))
            way(self.jobs())
            if self.random.random() < 0.1:
                self.restart()
        self.come_to_rest()
        self.judge()

    def repair(self):
        """Somebody pushes a fix to each branch whose newest commit fails a
        check: no set of a merge train fails for that, but all wait."""
        for target in self.targets:
            tip = self.tip(target)
            with Repository(target.git) as repository:
                files = dict(repository.tree(tip))
            if all(verdict(check, files) for check in target.checks):
                continue
            new = {path: text.replace(POISON, "")
                   for path, text in files.items() if POISON in text}
            path, line = LEFT
            new[path] = new.get(path, files.get(path, "")).replace(line, "")
            new = {path: text for path, text in new.items()
                   if path in files and text != files[path]}
            self.push(target, tip, new)

    def come_to_rest(self):
        """Ends absences and most holds, and lets everything happen."""
        if self.away:
            self.end_absence()
        self.restart()
        jobs = self.jobs()
        for name, job in jobs.items():
            if "operator" in job["holds"] and self.random.random() < 0.7:
                self.answer("release", name)
                self.held.discard(name)
        for one in self.sets.values():
            if one.guarded and not one.approved and one.id in jobs and \
                    self.random.random() < 0.5:
                self.approve(one)
        self.restart()
        end = time.monotonic() + TIMEOUT_S
        while True:
            dropped = os.listdir(self.base / "prequeue")
            wrong = sorted(waits_rightly(self, self.jobs()))
            if not dropped and not wrong:
                break
            if time.monotonic() > end:
                raise Broken(f"{dropped} are never taken, or {wrong} never "
                             "end")
            self.repair()
            self.restart()
            if not wrong:
                continue
            self.note(f"wait {wrong[0]}")
            self.answer("wait", "--timeout", "1s", wrong[0])
        self.stop()
        self.run("daemon", "all", "--until-idle")
        self.start()
        self.stop()

    def judge(self):
        jobs = self.jobs()
        for name, job in jobs.items():
            if job["class"] == "RB" and name not in self.rollbacks:
                if not self.unclear_rollbacks:
                    raise Broken(f"nobody has asked for rollback {name}")
                status = json.loads(self.run("status", "--json", name))
                self.rollbacks[name] = [
                    each["id"] for each in status["relations"]]
        for one in self.packed:
            if one.id not in jobs:
                del self.sets[one.id]
            else:
                status = json.loads(self.run("status", "--json", one.id))
                one.sum = status["sum"]
        wrong = waits_rightly(self, jobs)
        if wrong:
            raise Broken(f"{wrong} wait for nothing")
        for name in set(self.sets) - set(jobs):
            if self.was_refused(name):
                del self.sets[name]
        absent = set(self.sets) - set(jobs)
        if absent:
            raise Broken(f"{absent} were submitted and are not there")
        for line in (self.dir / "checks").read_text().splitlines():
            check, digest, code, _ = line.split(" ")
            self.checks.setdefault((check, digest), set()).add(code == "0")
        gone = set()
        for target in self.targets:
            judge = BranchJudge(self, target)
            try:
                judge.judge(jobs)
                gone |= judge.gone
            finally:
                judge.repository.close()
        self.judge_commands(jobs)
        code, out, err = self.answer("fsck")
        found = set(re.findall(r"(?:set|rollback) '([^']*)' (?:has landed, "
                               r"but )?is no longer", out + err))
        if found != gone or (code != 0) != bool(gone):
            raise Broken(f"fsck: {code} {out} {err} instead of {gone}")
        _, out, _ = self.answer("doctor")
        if not gone and re.search(r"^warn +(target|registry|base)\b", out,
                                  re.M):
            raise Broken(f"doctor: {out}")

    def was_refused(self, name):
        """A rollback has given back the set that it supersedes, before the set
        was taken from the drop directory."""
        return any("bad-supersedes" in why.read_text() for why in
                   (self.base / "reject").glob(f"{name}_*.why"))

    def judge_commands(self, jobs):
        for name, once in self.commands.items():
            ran = self.dir / f"ran.{name}"
            runs = len(ran.read_text().split()) if ran.exists() else 0
            if name not in jobs:
                if runs:
                    raise Broken(f"{name} is not there, but ran")
            elif jobs[name]["state"] == "D" and runs == 0:
                raise Broken(f"{name} is done, but never ran")
            elif once and runs > 1 + self.retries.count(name):
                raise Broken(f"{name} ran {runs} times")

    def counts(self):
        try:
            jobs = self.jobs()
        except Broken:
            return ""
        states = [f"{job['class']}.{job['state']}.{job['reason']}"
                  for job in jobs.values() if job["kind"] == "change"]
        return " ".join(f"{states.count(each)} {each}"
                        for each in sorted(set(states)))


class Stopped(BaseException):
    """TERM ends the run, and says nothing about the history."""


def stop_signal(*_):
    raise Stopped


def main():
    signal.signal(signal.SIGTERM, stop_signal)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    first, last = (int(word) for word in (*sys.argv[3:5], 1, 3)[:2])
    if os.environ.get("POINTSMAN_SWEEP") == "once":
        last = first
    if "SEED" in os.environ:
        first = last = int(os.environ["SEED"])
    print(f"1..{last - first + 1}", flush=True)
    failed = 0
    for i, seed in enumerate(range(first, last + 1)):
        history, why = None, None
        began = time.monotonic()
        try:
            history = History(seed, HOME)
            history.play()
        except Stopped:
            print(f"Bail out! stopped by a signal in history {seed}")
            if history is not None:
                history.kill_all()
            failed += 1
            break
        except Exception as error:
            why = str(error) if isinstance(error, Broken) else \
                traceback.format_exc()
        took = time.monotonic() - began
        if why is not None:
            failed += 1
        if history is not None:
            print(f"# {took:.0f} s: {history.counts()}")
            history.kill_all()
        if why is not None:
            said = history.said if history is not None else []
            text = "\n".join([f"SEED={seed}", *said, why])
            print("# " + text.replace("\n", "\n# "))
            if "KEEP" in os.environ:
                subprocess.run(["cp", "-a", str(HOME / f"h{seed}"),
                                os.environ["KEEP"]])
        shutil.rmtree(HOME / f"h{seed}", ignore_errors=True)
        print(f"{'not ok' if why else 'ok'} {i + 1} - history {seed} leaves "
              "what its replay says", flush=True)
    shutil.rmtree(HOME, ignore_errors=True)
    return 1 if failed else 0


HOME = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-histories."))
ENV = {**os.environ, "HOME": str(HOME), "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C.UTF-8", "TZ": "UTC",
       "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
       "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org"}
# Processes that faulty traces cannot look for leaks.
ENV["ASAN_OPTIONS"] = ":".join(
    filter(None, [ENV.get("ASAN_OPTIONS"), "detect_leaks=0"]))
for name in "POINTSMAN_BASE", "POINTSMAN_SERVER", "GIT_DIR", "GIT_WORK_TREE":
    ENV.pop(name, None)

sys.exit(main())
