"""Power cuts: what was acknowledged is there afterwards; TAP.

    python3 power_cuts.py POINTSMAN WITNESS [CUTS [SEED]]

Half of the CUTS are made on one file system and half on two. A base and a
repository are on file systems of their own. While jobs run and change sets
land, these file systems are shut down as by a power cut: what was not synced is
gone. They are mounted again, and a server goes on with them; of two, the device
numbers may be exchanged. Sometimes the disk is full, or has no inodes left, at
that moment. Judged is what somebody was told before the cut, and what the tasks
wrote down on a file system that is not cut (tests/support/witness.c,
storm_judge.py).
KEEP=DIR keeps what is left of an installation that failed.
"""
import ctypes
import fcntl
import io
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import urllib.parse
from collections import Counter

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from processes import processes_below
from storm_judge import Job, Judge, stream_query
from unix_http import Connection

PROGRAM, WITNESS = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
CUTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
APART = len(sys.argv) > 5
EACH = 25              # cuts of one installation
TIMEOUT_S = 600
SUBREAPER = 36         # PR_SET_CHILD_SUBREAPER
SHUTDOWN = 0x8004587d  # EXT4_IOC_SHUTDOWN
NO_FLUSH = 2           # not even the journal
IMAGE_MB, INODES = 96, 8000
AGAIN = {69, 74, 75, 111}  # the disk is full, or there is no server
LAYOUTS = {"one": ["disk", "disk"], "two": ["disk", "disk2"]}


class Broken(Exception):
    pass


class Cut(Exception):
    """The power is gone, so there is no answer."""


class Installation:
    def __init__(self, home, layout, number):
        self.random = random.Random(f"{SEED} {layout} {number}")
        self.home = home / f"{layout}{number}"
        self.disks = [self.home / name
                      for name in dict.fromkeys(LAYOUTS[layout])]
        self.base = self.disks[0] / "base"
        self.git = self.disks[-1] / "target.git"
        self.accounts = self.home / "accounts"
        self.log = self.home / "serve.log"
        self.server = None
        self.off = threading.Event()
        self.answers = threading.Semaphore(0)
        self.connection = None
        self.plan, self.ended = {}, {}
        self.sets, self.landed = {}, set()
        self.fillers = []
        self.counts = Counter()
        self.said = []
        self.trouble = None

    # ---- disks -----------------------------------------------------------

    def run(self, *words, **more):
        return subprocess.run([str(word) for word in words], check=True,
                              stdout=subprocess.PIPE, text=True, **more).stdout

    def prepare(self):
        self.home.mkdir()
        self.accounts.mkdir()
        for disk in self.disks:
            disk.mkdir()
            with open(f"{disk}.img", "wb") as image:
                image.truncate(IMAGE_MB << 20)
            self.run("mkfs.ext4", "-q", "-b", 4096, "-N", INODES, "-J",
                     "size=4", f"{disk}.img")
        self.mount()
        env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_CONFIG_GLOBAL": "/dev/null"}
        self.run("git", "init", "-q", "--bare", "-b", "main", self.git)
        self.run("git", "-C", self.git, "fast-import", "--quiet", env=env,
                 input="commit refs/heads/main\ncommitter S <s@example.org> "
                 "1700000000 +0000\ndata 5\nfirst\nM 100644 inline first\n"
                 "data 6\nfirst\n\n")
        got = self.call("init", "--target", f"main={self.git}", str(self.base))
        if got.returncode != 0:
            raise Broken(got.stderr)
        (self.base / "conf.d").mkdir(exist_ok=True)
        (self.base / "conf.d" / "power.conf").write_text(
            "[serve]\nlisten = off\n[queue]\nconcurrency = 6\npoll = 1\n"
            f"[target \"main\"]\ngit = {self.git}\nblind = allow\n"
            "check.tree = test -e first\n")
        os.sync()

    def mount(self):
        """Not always as the same device. Nothing is written in passing."""
        for disk in self.random.sample(self.disks, len(self.disks)):
            self.run("mount", "-o", "loop,commit=300", f"{disk}.img", disk)

    def unmount(self):
        for disk in self.disks:
            subprocess.run(["umount", str(disk)], check=False,
                           stderr=subprocess.DEVNULL)

    def fill(self):
        """No space, or no inodes."""
        disk = self.random.choice(self.disks)
        way = self.random.choice(["space", "space", "inodes"])
        self.said.append(f"no {way} on {disk.name}")
        self.counts[f"cuts without {way}"] += 1
        try:
            if way == "space":
                filler = disk / "filler"
                self.fillers.append(filler)
                with open(filler, "wb") as file:
                    for step in 1 << 20, 1 << 12:
                        try:
                            while True:
                                os.posix_fallocate(
                                    file.fileno(),
                                    os.fstat(file.fileno()).st_size, step)
                        except OSError:
                            pass
            else:
                many = disk / "many"
                self.fillers.append(many)
                many.mkdir()
                for i in range(INODES):
                    os.close(os.open(many / str(i), os.O_CREAT, 0o600))
        except OSError:
            pass

    def make_room(self):
        for filler in self.fillers:
            if filler.is_dir():
                shutil.rmtree(filler, ignore_errors=True)
            else:
                filler.unlink(missing_ok=True)
        self.fillers.clear()

    # ---- processes -------------------------------------------------------

    def env(self):
        env = {**os.environ, "POINTSMAN_BASE": str(self.base), "TZ": "UTC",
               "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        for name in "POINTSMAN_SERVER", "GIT_DIR", "GIT_WORK_TREE":
            env.pop(name, None)
        return env

    def call(self, *words, data=None):
        return subprocess.run([PROGRAM, "-q", *words], env=self.env(),
                              cwd=self.home, capture_output=True, text=True,
                              input=data, timeout=TIMEOUT_S, check=False)

    def start(self):
        """Starts a server; false if it ends."""
        self.connection = None
        begins = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "a") as log:
            self.server = subprocess.Popen([PROGRAM, "serve"], env=self.env(),
                                           cwd=self.home, stdout=log,
                                           stderr=log,
                                           stdin=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT_S
        while " serving " not in self.log.read_text()[begins:]:
            if self.server.poll() is not None:
                code = self.server.returncode
                self.server = None
                self.said.append(f"serve: {code}")
                if code < 0:
                    raise Broken(f"serve was killed by signal {-code}")
                return False
            if time.monotonic() > end:
                raise Broken("serve does not serve")
            time.sleep(0.01)
        return True

    @staticmethod
    def children():
        """All processes below this one that are not zombies: {pid: state}."""
        return {pid: state
                for pid, (_, state, _, _) in processes_below().items()
                if state not in "ZX"}

    @staticmethod
    def send(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def halt(self):
        """Nothing goes on: a call that is under way does not return. Otherwise
        a sync might succeed on a file system that is being shut down, and
        somebody might act on that."""
        sent = set()
        while True:
            found = self.children()
            if all(pid in sent and state in "TD"
                   for pid, state in found.items()):
                break
            for pid in found:
                self.send(pid, signal.SIGSTOP)
                sent.add(pid)

    def kill_all(self):
        while found := self.children():
            for pid in found:
                self.send(pid, signal.SIGKILL)
        if self.server is not None:
            self.server.wait()
        self.server = None

    # ---- what people do until the power is gone --------------------------

    def ask(self, *words, data=None):
        """Runs the program until it has an answer that came before the cut."""
        while not self.off.is_set():
            got = self.call(*words, data=data)
            if self.off.is_set():
                break
            self.answers.release()
            if got.returncode not in AGAIN:
                return got
        raise Cut

    def person(self, what):
        def loop():
            try:
                while not self.off.is_set():
                    what()
            except Cut:
                pass
            except Exception:
                self.trouble = traceback.format_exc()
        return threading.Thread(target=loop, daemon=True)

    def submit(self):
        batch, names = "", []
        once = self.draw.random() < 0.4
        for _ in range(1 if once else self.draw.choice([1, 2, 5])):
            name = f"j{len(self.plan) + 1}"
            job = Job(name, "plain", once=once,
                      lines=self.draw.choice([0, 1, 5, 60, 60, 300, 2500]),
                      ms=self.draw.choice([0, 0, 0, 50, 400]))
            self.plan[name] = job
            names.append(name)
            command = [WITNESS, str(self.accounts), job.kind, "0", "0",
                       str(job.lines), str(job.ms)]
            batch += json.dumps({"id": name, "command": command}) + "\n"
        got = self.ask("submit", "--at-most-once", "--id", name, "--",
                       *command) if once else \
            self.ask("submit", "--batch", data=batch)
        for name, answer in zip(names, got.stdout.splitlines()):
            self.plan[name].acknowledged = answer == name
            self.counts["jobs acknowledged"] += answer == name

    def wait(self):
        waiting = [name for name, job in list(self.plan.items())
                   if job.acknowledged and name not in self.ended]
        if not waiting:
            self.off.wait(0.01)
            return
        name = self.draw.choice(waiting[:6])
        got = self.ask("wait", "--json", name)
        if not got.stdout:
            return
        end = json.loads(got.stdout)
        said = (self.accounts / f"{name}.said")
        starts = said.read_text().count(" start ") if said.exists() else 0
        self.ended[name] = (end["state"], end["reason"], starts)
        self.counts["ends acknowledged"] += 1

    def land(self):
        name = f"C{len(self.sets) + 1}"
        content = f"{name}\n" * self.draw.choice([1, 50, 5000])
        self.sets[name] = [content, False]
        meta = f"##movetype\nDC\n##target\nmain\n##files\ns/{name}\n"
        second = 0x400000000000000a + int(time.time())
        file = self.home / \
            f"{name}_@{second:016x}{len(self.sets):08x}_1_host_DC"
        with tarfile.open(file, "w") as tar:
            for path, text in ("meta", meta), (f"lroot/s/{name}", content):
                info = tarfile.TarInfo(path)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        got = self.ask("change", "submit", str(file))
        self.sets[name][1] = got.returncode == 0 or \
            "duplicate-csid" in got.stderr
        self.counts["sets acknowledged"] += self.sets[name][1]
        if self.sets[name][1] and self.draw.random() < 0.7:
            got = self.ask("wait", name)
            if got.returncode == 0:
                self.landed.add(name)
                self.counts["landings acknowledged"] += 1

    def round(self):
        """A server, until the power is cut."""
        self.draw = random.Random(self.random.random())
        self.off.clear()
        persons = [self.person(what) for what in
                   (self.submit, self.wait, self.wait, self.land, self.land)]
        for person in persons:
            person.start()
        self.await_answers(self.random.choice([2, 10, 40, 120])
                           + self.random.randrange(8))
        if self.random.random() < 0.4:
            self.fill()
            self.await_answers(self.random.choice([0, 2, 8, 16]))
        self.cut()
        self.kill_all()
        for person in persons:
            person.join()
        if self.trouble:
            raise Broken(self.trouble)
        self.unmount()
        self.mount()

    def await_answers(self, count):
        """Until so many calls have returned, also with an error."""
        self.answers = threading.Semaphore(0)
        for _ in range(count):
            if not self.answers.acquire(timeout=TIMEOUT_S):
                raise Broken("nobody gets an answer")

    def cut(self):
        fds = [os.open(disk, os.O_RDONLY) for disk in self.disks]
        self.off.set()
        self.halt()
        for fd in fds:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_FLUSH))
            os.close(fd)
        self.counts["cuts"] += 1
        self.said.append("cut")

    # ---- afterwards ------------------------------------------------------

    def come_back(self):
        """The next server goes on; not necessarily before there is room."""
        if self.fillers and self.random.random() < 0.5:
            if self.start():
                self.counts["starts without room"] += 1
            self.make_room()
            if self.server is not None:
                return
        self.make_room()
        if not self.start():
            raise Broken("serve does not start: "
                         + self.log.read_text()[-2000:])

    def get(self, path):
        if self.connection is None:
            self.connection = Connection(str(self.base / "ctrl" / "sock"))
        self.connection.request("GET", path)
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            raise Broken(f"{path}: {reply.status} {data[:300]}")
        return data

    def logs(self, job, attempt, more):
        return self.get(f"/api/v1/jobs/{job}/logs?" + urllib.parse.urlencode(
            {"attempt": attempt, **more}))

    def jobs(self):
        got = self.call("list", "--all", "--json")
        if got.returncode != 0:
            raise Broken(f"list: {got.returncode} {got.stderr}")
        return {job["id"]: job for job in map(json.loads,
                                              got.stdout.splitlines())}

    def judge_cut(self):
        problems = []
        jobs = self.jobs()
        for name, job in self.plan.items():
            if job.acknowledged and name not in jobs:
                problems.append(f"{name} was acknowledged and is not there")
        for name, (state, reason, starts) in self.ended.items():
            if name not in jobs:
                continue
            now = jobs[name]["state"], jobs[name]["reason"]
            if now != (state, reason):
                problems.append(f"{name} had ended as {state} {reason} and is "
                                f"now {now}")
            said = self.accounts / f"{name}.said"
            if said.exists() and said.read_text().count(" start ") > starts:
                problems.append(f"{name} had ended and ran again")
        return problems + self.judge_branch(jobs)

    def git_complaints(self, *words):
        got = subprocess.run(["git", "-C", str(self.git), *words],
                             capture_output=True, text=True, check=False)
        return [f"git {words[0]}: {got.stderr}"] * (got.returncode != 0)

    def judge_branch(self, jobs):
        # Not `git fsck`: sets are landing meanwhile.
        problems = self.git_complaints("rev-list", "--objects", "main")
        if problems:
            return problems
        added = Counter(self.run("git", "-C", self.git, "log", "--format=",
                                 "--name-only", "--diff-filter=A",
                                 "main").split())
        for name, (content, acknowledged) in self.sets.items():
            state = jobs[name]["state"] if name in jobs else None
            there = added[f"s/{name}"]
            if acknowledged and state is None:
                problems.append(f"{name} was acknowledged and is not there")
            if name in self.landed and state != "done":
                problems.append(f"{name} had landed and is now {state}")
            if (name in self.landed or state == "done") and not there:
                problems.append(f"{name} has landed ({state}) and is not on "
                                "the branch")
            if there > 1:
                problems.append(f"{name} has landed {there} times")
            if there and self.run("git", "-C", self.git, "cat-file", "blob",
                                  f"main:s/{name}") != content:
                problems.append(f"{name} has other content on the branch")
        return problems

    def settle(self):
        """Everything ends."""
        end = time.monotonic() + TIMEOUT_S
        while left := [job for job in self.jobs().values()
                       if job["state"] in ("queued", "staged", "pending",
                                           "executing")]:
            if time.monotonic() > end:
                raise Broken(f"never end: {left[:5]} "
                             + self.call("why", left[0]["id"]).stdout)
            try:
                self.call("wait", left[0]["id"])
            except subprocess.TimeoutExpired:
                pass

    def judge_all(self):
        self.settle()
        jobs = self.jobs()
        attempts = {}
        for name in self.plan:
            if name in jobs:
                for line in self.get(
                        f"/api/v1/jobs/{name}/attempts").splitlines():
                    row = json.loads(line)
                    attempts[name, None, row["attempt"]] = row
        accounts = {path.stem: path.read_text()
                    for path in self.accounts.glob("*.said")}
        judge = Judge(self.plan, accounts, jobs, attempts,
                      lambda job, _, attempt, stream: self.logs(
                          job, attempt, stream_query(stream)),
                      set(), True)
        problems = judge.judge()
        self.counts += judge.counts
        landed = set(self.run("git", "-C", self.git, "ls-tree", "-r",
                              "--name-only", "main", "s/").split())
        for name in self.sets:
            if name in jobs and (f"s/{name}" in landed) != \
                    (jobs[name]["state"] == "done"):
                problems.append(f"{name} is {jobs[name]['state']} "
                                f"{jobs[name]['reason']} in the registry, but "
                                "the branch says something else")
            self.counts[f"sets {jobs[name]['state']} {jobs[name]['reason']}"
                        if name in jobs else "sets without answer"] += 1
        self.server.terminate()
        if self.server.wait(TIMEOUT_S) != 0:
            problems.append(f"serve ended with {self.server.returncode}")
        self.server = None
        problems += self.git_complaints("fsck", "--strict", "--no-dangling")
        got = self.call("fsck")
        if got.returncode != 0:
            problems.append(f"fsck: {got.stdout} {got.stderr}")
        return problems

    def play(self, cuts):
        self.prepare()
        self.come_back()
        for _ in range(cuts):
            self.round()
            self.come_back()
            problems = self.judge_cut()
            if problems:
                return problems
        return self.judge_all()

    def end(self):
        self.off.set()
        self.kill_all()
        self.unmount()


def play(home, layout, number, cuts):
    installation = Installation(home, layout, number)
    began = time.monotonic()
    try:
        problems = installation.play(cuts)
    except Exception as error:
        problems = [str(error) if isinstance(error, Broken) else
                    traceback.format_exc()]
    print(f"# {layout}{number}: {time.monotonic() - began:.0f} s, "
          f"{len(problems)} problems", flush=True)
    if problems:
        print("# " + "\n".join([*installation.said[-20:], *problems[:20]])
              .replace("\n", "\n# "), flush=True)
        if "KEEP" in os.environ:
            installation.kill_all()
            subprocess.run(["cp", "-a", str(installation.home),
                            os.environ["KEEP"]], check=False)
    installation.end()
    shutil.rmtree(installation.home, ignore_errors=True)
    return installation.counts, problems


def play_apart():
    """All cuts, in a mount namespace of its own."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    home = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-power."))
    print(f"1..{len(LAYOUTS)}", flush=True)
    failed = 0
    for point, layout in enumerate(LAYOUTS, 1):
        counts, bad, left, number = Counter(), 0, CUTS // len(LAYOUTS), SEED
        while left > 0:
            more, problems = play(home, layout, number, min(left, EACH))
            counts += more
            bad += bool(problems)
            left -= EACH
            number += 1
        for name, count in sorted(counts.items()):
            print(f"# {count} {name}")
        failed += bad
        print("not " * (bad > 0) + f"ok {point} - {counts['cuts']} power cuts, "
              f"on {layout} file system{'s' * (layout == 'two')}: everything "
              f"acknowledged is there or marked (seed {SEED})", flush=True)
    shutil.rmtree(home, ignore_errors=True)
    return 1 if failed else 0


TRY = """set -e
d=$(mktemp -d)
trap 'umount "$d" 2>/dev/null || :; rm -rf "$d" "$d.img"' EXIT
truncate -s 8M "$d.img"
mkfs.ext4 -q "$d.img"
mount -o loop "$d.img" "$d"
exec 9<"$d"
"$0" -c 'import fcntl, struct
fcntl.ioctl(9, 0x8004587d, struct.pack("I", 2))'
exec 9<&-
"""


def main():
    unshare = ["unshare", "-m", "--propagation", "private"]
    if subprocess.run([*unshare, "sh", "-c", TRY, sys.executable],
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("1..0 # SKIP only root can mount ext4 from a loop device and "
              "shut it down")
        return 0
    return subprocess.run([*unshare, sys.executable, __file__, PROGRAM, WITNESS,
                           str(CUTS), str(SEED), "apart"],
                          check=False).returncode


sys.exit(play_apart() if APART else main())
