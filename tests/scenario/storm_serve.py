"""Tasks in a storm: thousands of them, while every process of an installation
is killed, stopped and continued, its program is replaced, its disk is full and
its clock is set; TAP.

    python3 storm_serve.py POINTSMAN WITNESS [TASKS [SEED]]

Each task keeps an account of its own (tests/support/witness.c), and
tests/support/storm_judge.py compares these accounts with the reports of the
program. The storm is played twice, with cgroups and without. FAULTS=none or
FAULTS='name name' plays only these, KEEP=DIR keeps what is left.
"""
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
from collections import Counter

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from processes import process_stat, processes_below
from storm_judge import Job, Judge, stream_query
from unix_http import Connection

PROGRAM, WITNESS = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
TASKS = int(sys.argv[3]) if len(sys.argv) > 3 else 150
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
MODE = sys.argv[5] if len(sys.argv) > 5 else None
TIMEOUT_S = 900
OPEN_MOST = max(15, min(150, TASKS // 20))   # jobs that wait at once
SUBREAPER = 36         # PR_SET_CHILD_SUBREAPER
HOUR_S = 3600
FAKETIME = pathlib.Path(
    f"/usr/lib/{os.uname().machine}-linux-gnu/faketime/libfaketime.so.1")
DISK_MB, INODES = 192, 20000


class Broken(Exception):
    pass


def ticks_now():
    """The clock that /proc/PID/stat uses."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


class Storm:
    def __init__(self, home, mode, seed):
        self.random = random.Random(f"{mode} {seed}")
        self.work = random.Random(f"{seed}")   # the same jobs in both modes
        self.mode, self.home = mode, home
        self.disk = home / "disk"
        self.base = self.disk / "base"
        self.accounts = home / "accounts"
        self.clock = home / "clock"
        self.log = home / "serve.log"
        self.served = home / "served"
        self.server = None
        self.wanted = False                    # somebody restarts the server
        self.plan, self.order = {}, []
        self.killed, self.stopped = set(), []  # (pid, ticks)
        self.said = []
        self.counts = Counter()
        self.upgrade = None
        self.tasks = 0
        self.submitted, self.over = threading.Event(), threading.Event()
        self.trouble = None
        self.began = time.monotonic()

    def note(self, text):
        self.said.append(f"{time.monotonic() - self.began:.2f} {text}")

    # ---- the installation ------------------------------------------------

    def prepare(self):
        self.disk.mkdir()
        self.accounts.mkdir()
        self.clock.write_text("+0\n")
        subprocess.run(["mount", "-t", "tmpfs", "-o",
                        f"size={DISK_MB}m,nr_inodes={INODES}", "storm",
                        str(self.disk)], check=True)
        if self.mode == "groups":
            self.hide_cgroups()
        self.install()
        self.call("init", str(self.base), check=True)
        (self.base / "conf.d").mkdir(exist_ok=True)
        (self.base / "conf.d" / "storm.conf").write_text(
            "[serve]\nlisten = off\n[queue]\nconcurrency = 12\ngrace = 1\n"
            "drain = 1\n")

    @staticmethod
    def hide_cgroups():
        while True:
            lines = pathlib.Path("/proc/self/mountinfo").read_text()
            found = re.findall(r"^(?:\S+ ){4}(\S+) .* - cgroup2 ", lines, re.M)
            if not found:
                break
            subprocess.run(["umount", "-l", found[0]], check=True)

    def install(self, text=None):
        """Puts the program, or a script, where the server's program is."""
        new = self.home / "new"
        if text is None:
            # In a process of its own: a child that another thread starts at
            # this moment inherits no descriptor that may write to it (ETXTBSY).
            subprocess.run(["cp", PROGRAM, new], check=True)
        else:
            new.write_text(text)
        new.chmod(0o755)
        os.rename(new, self.served)

    def env(self):
        env = {**os.environ, "POINTSMAN_BASE": str(self.base), "TZ": "UTC"}
        env.pop("POINTSMAN_SERVER", None)
        return env

    def server_env(self):
        env = self.env()
        if self.fakes_clocks():
            env.update(LD_PRELOAD=str(FAKETIME), NO_FAKE_STAT="1",
                       FAKETIME_TIMESTAMP_FILE=str(self.clock),
                       FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
        return env

    @staticmethod
    def fakes_clocks():
        return FAKETIME.exists()

    def call(self, *words, check=False, data=None):
        got = subprocess.run([PROGRAM, "-q", *words], env=self.env(),
                             cwd=self.home, capture_output=True, text=True,
                             input=data, timeout=TIMEOUT_S)
        if check and got.returncode != 0:
            raise Broken(f"{words}: {got.returncode} {got.stderr}")
        return got

    def start(self):
        self.install()
        with open(self.log, "a") as log:
            self.server = subprocess.Popen(
                [str(self.served), "serve"], env=self.server_env(),
                cwd=self.home, stderr=log, stdout=log,
                stdin=subprocess.DEVNULL)
        self.note(f"start {self.server.pid}")

    def tend(self):
        """Starts the server again if it has ended; notes how it ended."""
        if self.server is not None and self.server.poll() is not None:
            code = self.server.returncode
            self.note(f"the server ended with {code}")
            self.counts[f"the server ended with {code}"] += 1
            if code < 0 and -code not in (signal.SIGHUP, signal.SIGKILL,
                                          signal.SIGTERM):
                raise Broken(f"the server was killed by signal {-code}: "
                             + self.log.read_text()[-2000:])
            self.server = None
        if self.server is None:
            self.start()

    def processes(self):
        """{pid: (kind, start)} of all processes of the installation. Orphans
        come to this process, which reaps them."""
        found = {}
        for pid, (name, state, parent, start) in processes_below().items():
            if state in "ZX":
                if parent == os.getpid() and name != "pointsman":
                    self.reap(pid)
                continue
            if self.server is not None and pid == self.server.pid:
                kind = "server"
            elif name == "witness":
                kind = "task"
            elif name.startswith("pointsman-"):
                kind = "guard" if self.server is not None and \
                    parent == self.server.pid else "launcher"
            else:
                kind = "caller"
            found[pid] = kind, start
        return found

    @staticmethod
    def reap(pid):
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass

    # ---- jobs ------------------------------------------------------------

    def draw_job(self):
        draw, name = self.work, f"j{len(self.plan) + 1}"
        kind, = draw.choices(
            ["plain", "once", "quiet", "tree", "session", "daemon", "deaf",
             "hang"], [30, 12, 4, 5, 4, 4, 5, 1])
        job = Job(name, kind, lines=draw.choice([0, 1, 5, 20, 60, 200]),
                  ms=draw.choice([0, 0, 0, 0, 40, 100, 300, 1000, 2500]))
        if kind == "once":
            job.once = True
        elif kind == "hang":
            job.timeout = 1
        elif draw.random() < 0.2:
            job.retries = draw.randint(1, 2)
            job.fails = draw.randint(1, 3)
            job.code = draw.choice([1, 3, 75])
        if draw.random() < 0.02:
            job.lines = 4000
        if kind == "plain" and draw.random() < 0.08:
            job.nodes = [f"n{i}" for i in range(draw.randint(2, 12))]
        if self.order and draw.random() < 0.15:
            job.after = draw.sample(self.order, min(len(self.order),
                                                    draw.randint(1, 2)))
        return job

    def command_of(self, job):
        # Without "{}", the node would become an argument of the command.
        return [WITNESS, str(self.accounts), job.kind, str(job.fails),
                str(job.code), str(job.lines), str(job.ms), "{}"]

    def words_of(self, job):
        """What a line of a batch cannot say."""
        words = ["submit", "--id", job.name]
        if job.retries:
            words += ["--retries", str(job.retries)]
        if job.once:
            words.append("--at-most-once")
        if job.nodes:
            words += ["--array", "-"]
        for name in job.after:
            words += ["--after", name]
        return [*words, "--", *self.command_of(job)]

    def line_of(self, job):
        line = {"id": job.name, "command": self.command_of(job)}
        if job.retries:
            line["retries"] = job.retries
        if job.timeout:
            line["timeout"] = job.timeout
        if job.after:
            line["after"] = job.after
        return json.dumps(line)

    def submit_all(self):
        try:
            while self.tasks < TASKS:
                batch = []
                for _ in range(self.work.choice([1, 1, 5, 20, 50])):
                    job = self.draw_job()
                    self.plan[job.name] = job
                    self.order.append(job.name)
                    batch.append(job)
                    self.tasks += len(job.tasks())
                self.submit(batch)
                self.let_some_end()
        except Exception:
            self.trouble = traceback.format_exc()
        self.submitted.set()

    def submit(self, batch):
        """Until every line is acknowledged."""
        end = time.monotonic() + TIMEOUT_S
        while batch:
            alone = [job for job in batch if job.once or job.nodes]
            lines = [job for job in batch if job not in alone]
            got = self.call("submit", "--batch",
                            data="".join(self.line_of(job) + "\n"
                                         for job in lines))
            for job, answer in zip(lines, got.stdout.splitlines()):
                job.acknowledged = answer == job.name
                if "unknown" in answer:
                    raise Broken(f"{job.name}: {answer}")
            for job in alone:
                got = self.call(*self.words_of(job),
                                data="\n".join(job.nodes))
                job.acknowledged = got.stdout == job.name + "\n"
                if got.returncode == 64:
                    raise Broken(f"{job.name}: {got.stderr}")
            batch = [job for job in batch if not job.acknowledged]
            self.counts["submissions repeated"] += bool(batch)
            if batch and time.monotonic() > end:
                raise Broken(f"cannot submit: {got}")

    def let_some_end(self):
        end = time.monotonic() + TIMEOUT_S
        while len(self.open_jobs() or ()) > OPEN_MOST:
            time.sleep(0.2)
            if time.monotonic() > end:
                raise Broken("no job ends: " + self.why())

    def open_jobs(self):
        """None if there is no answer."""
        got = self.call("list", "--all", "--json", "state:open")
        if got.returncode != 0:
            return None
        return [json.loads(line)["id"] for line in got.stdout.splitlines()]

    def why(self):
        names = (self.open_jobs() or [])[:5]
        return "\n".join(self.call("why", name).stdout for name in names)

    # ---- faults ----------------------------------------------------------

    def victims(self, kind):
        found = [(pid, start) for pid, (what, start) in self.processes().items()
                 if what == kind]
        self.random.shuffle(found)
        return found

    def kill(self, pid, start):
        stat = process_stat(pid)
        if stat and stat[3] == start and send(pid, signal.SIGKILL):
            self.killed.add((pid, start))
            return True
        return False

    def do_kill(self, kind=None):
        kind = kind or self.random.choices(
            ["server", "guard", "launcher", "task", "caller"],
            [4, 4, 2, 4, 1])[0]
        for pid, start in self.victims(kind)[:1]:
            self.note(f"kill {kind} {pid}")
            self.counts[f"kill -9 of a {kind}"] += self.kill(pid, start)
            if kind == "server":
                self.server.wait()

    def do_kill_many(self):
        """Several at once, in any order."""
        found = list(self.processes().items())
        self.random.shuffle(found)
        share = self.random.choice([0.3, 0.7, 1])
        self.note(f"kill {share} of {len(found)}")
        self.counts["kill -9 of many"] += 1
        for pid, (_, start) in found:
            if self.random.random() < share:
                self.kill(pid, start)

    def do_stop(self):
        kind, = self.random.choices(
            ["server", "guard", "launcher", "task", "caller"],
            [4, 4, 2, 3, 1])
        for pid, start in self.victims(kind)[:1]:
            # A guard that is stopped for ten seconds is replaced.
            for_s = 12 if kind == "guard" and self.random.random() < 0.1 \
                else self.random.choice([0.01, 0.1, 0.5, 2])
            self.note(f"stop {kind} {pid} for {for_s} s")
            self.counts[f"STOP of a {kind}"] += send(pid, signal.SIGSTOP)
            self.stopped.append((time.monotonic() + for_s, pid, start))

    def go_on(self, all_of_them=False):
        for entry in list(self.stopped):
            at, pid, start = entry
            if all_of_them or at <= time.monotonic():
                self.stopped.remove(entry)
                stat = process_stat(pid)
                if stat and stat[3] == start:
                    self.counts["CONT"] += send(pid, signal.SIGCONT)

    def keep_going_on(self):
        """What is stopped must go on although this process waits for it."""
        while not self.over.wait(0.02):
            self.go_on()

    def do_term(self):
        if self.server is not None:
            self.note("TERM")
            self.counts["TERM of the server"] += send(self.server.pid,
                                                      signal.SIGTERM)

    def do_hup(self):
        if self.server is not None:
            send(self.server.pid, signal.SIGHUP)

    def do_upgrade(self):
        if self.upgrade is not None:
            return
        bad = self.random.random() < 0.25
        self.note("upgrade" + " to nonsense" * bad)
        if bad:
            self.install("#!/bin/sh\nexit 127\n")
        else:
            self.install()
        self.upgrade = subprocess.Popen(
            [PROGRAM, "-q", "upgrade"], env=self.env(), cwd=self.home,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def tend_upgrade(self, wait=False):
        if self.upgrade is not None and \
                (wait or self.upgrade.poll() is not None):
            code = self.upgrade.wait(TIMEOUT_S)
            self.counts[f"upgrade: {code}"] += 1
            self.upgrade = None

    def do_full(self):
        """No space for a moment."""
        filler = self.disk / "filler"
        self.note("full disk")
        self.counts["full disk"] += 1
        with open(filler, "wb") as file:
            try:
                while True:
                    os.posix_fallocate(file.fileno(),
                                       os.fstat(file.fileno()).st_size, 1 << 16)
            except OSError:
                pass
        time.sleep(self.random.choice([0.05, 0.3, 1, 2]))
        filler.unlink()

    def remount(self, options):
        return subprocess.run(["mount", "-o", "remount," + options,
                               str(self.disk)], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def do_no_inodes(self):
        self.note("no inodes")
        for _ in range(10):
            stat = os.statvfs(self.disk)
            if self.remount(f"nr_inodes={stat.f_files - stat.f_ffree}"):
                self.counts["no inodes"] += 1
                time.sleep(self.random.choice([0.05, 0.3, 1, 2]))
                break
        self.remount(f"nr_inodes={INODES}")

    def do_clock(self):
        if not self.fakes_clocks():
            return
        step = self.random.choice([0, self.random.randint(-5, 5),
                                   self.random.randint(-10 * HOUR_S,
                                                       10 * HOUR_S)])
        self.set_clock(step)
        self.counts["clock steps"] += 1

    def set_clock(self, step):
        self.note(f"clock {step:+d}")
        new = self.home / "clock.new"
        new.write_text(f"{step:+d}\n")
        os.rename(new, self.clock)

    def do_cancel(self):
        if not self.order:
            return
        job = self.plan[self.random.choice(self.order[-40:])]
        if not job.acknowledged:
            return
        job.cancelled = True
        how = self.random.choice([[], ["--kill"]])
        if self.call("cancel", *how, job.name).returncode == 0:
            job.cancelled_at = job.cancelled_at or ticks_now() + 1
            self.counts["cancelled"] += 1

    def blow(self):
        ways = {self.do_kill: 10, self.do_kill_many: 2, self.do_stop: 8,
                self.do_term: 1, self.do_hup: 1, self.do_upgrade: 3,
                self.do_full: 2, self.do_no_inodes: 1, self.do_clock: 3,
                self.do_cancel: 3}
        only = os.environ.get("FAULTS", "").split()
        ways = {way: weight for way, weight in ways.items()
                if not only or way.__name__[3:] in only}
        while not self.submitted.is_set():
            self.submitted.wait(self.random.expovariate(1 / 0.35))
            if ways:
                way, = self.random.choices(list(ways), list(ways.values()))
                way()
            self.tend_upgrade()
            if self.random.random() < 0.8:
                self.tend()

    # ---- the end ---------------------------------------------------------

    def calm_down(self):
        """No more faults: everything that was acknowledged must end."""
        self.note("calm")
        self.over.set()
        self.go_on(all_of_them=True)
        self.set_clock(0)
        self.tend_upgrade(wait=True)
        end = time.monotonic() + TIMEOUT_S
        while (names := self.open_jobs()) != []:
            self.tend()
            if time.monotonic() > end:
                raise Broken(f"{len(names or [])} jobs never end: "
                             + self.why() + self.log.read_text()[-3000:])
            time.sleep(0.2)
        self.tend()

    def get(self, path):
        for _ in range(50):
            try:
                connection = Connection(str(self.base / "ctrl" / "sock"))
                connection.request("GET", path)
                reply = connection.getresponse()
                data = reply.read()
                break
            except (ConnectionError, FileNotFoundError):
                time.sleep(0.2)
        connection.close()
        if reply.status != 200:
            raise Broken(f"{path}: {reply.status} {data[:300]}")
        return data

    def logs(self, job, node, attempt, more):
        words = {"attempt": attempt, **more}
        if node is not None:
            words["node"] = node
        return self.get(f"/api/v1/jobs/{job}/logs?"
                        + urllib.parse.urlencode(words))

    def judge(self):
        jobs = {job["id"]: job for job in map(json.loads, self.call(
            "list", "--all", "--json", check=True).stdout.splitlines())}
        attempts = {}
        for name in jobs:
            for line in self.get(f"/api/v1/jobs/{name}/attempts").splitlines():
                row = json.loads(line)
                attempts[name, row["node"], row["attempt"]] = row
        accounts = {path.stem: path.read_text()
                    for path in self.accounts.glob("*.said")}
        judge = Judge(
            self.plan, accounts, jobs, attempts,
            lambda job, node, attempt, stream: self.logs(
                job, node, attempt, stream_query(stream)),
            self.killed, self.mode == "cgroups")
        problems = judge.judge()
        self.counts += judge.counts
        return problems

    def stop(self):
        """Stops the server as an operator does; returns what is wrong then."""
        problems = []
        self.server.terminate()
        if self.server.wait(TIMEOUT_S) != 0:
            problems.append(f"serve ended with {self.server.returncode}")
        got = self.call("fsck")
        if got.returncode != 0:
            problems.append(f"fsck: {got.stdout} {got.stderr}")
        left = {pid: kind for pid, (kind, _) in self.processes().items()
                if kind != "task" or self.mode == "cgroups"}
        if left:
            problems.append(f"after the end of the server, there is {left}")
        return problems

    def play(self):
        self.prepare()
        self.start()
        for loop in self.submit_all, self.keep_going_on:
            threading.Thread(target=loop, daemon=True).start()
        self.blow()
        if self.trouble:
            raise Broken(self.trouble)
        self.calm_down()
        doctor = self.call("doctor").stdout
        mode = "cgroups" if re.search(r"^ok +cgroup-v2", doctor, re.M) \
            else "groups"
        if mode != self.mode:
            raise Broken(f"not played with {self.mode}: {doctor}")
        problems = self.judge() + self.stop()
        log = self.log.read_text()
        for line in re.findall(r".*(?:internal error|Sanitizer|assert).*", log):
            problems.append(line)
        return problems

    def end(self):
        for pid, (_, start) in self.processes().items():
            self.kill(pid, start)
        if self.server is not None:
            self.server.wait()
        subprocess.run(["umount", "-l", str(self.disk)], check=False)


def play_apart():
    """One storm, in a mount namespace of its own; exit status 1 if the judge
    objects."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    home = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-storm."))
    home.chmod(0o755)
    storm = Storm(home, MODE, SEED)
    try:
        problems = storm.play()
    except Exception as error:
        problems = [str(error) if isinstance(error, Broken) else
                    traceback.format_exc()]
    took = time.monotonic() - storm.began
    storm.counts["tasks"] = storm.tasks
    for name, count in sorted(storm.counts.items()):
        print(f"# {count} {name}")
    print(f"# {took:.0f} s, {len(problems)} problems")
    if problems:
        print("# " + "\n".join(problems[:40]).replace("\n", "\n# "))
        if "KEEP" in os.environ:
            kept = pathlib.Path(os.environ["KEEP"]) / f"{MODE}-{SEED}"
            subprocess.run(["cp", "-a", str(home), str(kept)], check=False)
            (kept / "faults").write_text("\n".join(storm.said))
            (kept / "problems").write_text("\n".join(problems))
    storm.end()
    shutil.rmtree(home, ignore_errors=True)
    return 1 if problems else 0


def can(*words):
    return subprocess.run(["unshare", "-m", "--propagation", "private", *words],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def main():
    modes = {"cgroups": "with cgroups", "groups": "without cgroups"}
    print(f"1..{len(modes)}", flush=True)
    if not Storm.fakes_clocks():
        print("# the clock is not set: there is no libfaketime")
    failed = 0
    for number, (mode, words) in enumerate(modes.items(), 1):
        name = f"{TASKS} tasks in a storm, {words}: none runs twice at once, " \
            "none is lost"
        if os.environ.get("MODE", mode) != mode:
            print(f"ok {number} - {name} # SKIP MODE={os.environ['MODE']}")
            continue
        if not can("mount", "-t", "tmpfs", "none", "/mnt"):
            print(f"ok {number} - {name} # SKIP only root can mount a file "
                  "system in a namespace")
            continue
        if mode == "cgroups" and "cgroup2" not in \
                pathlib.Path("/proc/self/mountinfo").read_text():
            print(f"ok {number} - {name} # SKIP there is no cgroup v2")
            continue
        code = subprocess.run(
            ["unshare", "-m", "--propagation", "private", sys.executable,
             __file__, PROGRAM, WITNESS, str(TASKS), str(SEED), mode],
            check=False).returncode
        failed += code != 0
        print("not " * (code != 0) + f"ok {number} - {name} (seed {SEED})",
              flush=True)
    return 1 if failed else 0


sys.exit(play_apart() if MODE else main())
