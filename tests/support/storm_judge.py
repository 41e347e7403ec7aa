"""Judges what tests/scenario/storm_serve.py left behind: the accounts of the
tasks themselves (tests/support/witness.c) against what the program reports. It
knows nothing else about the program.

As a program it checks itself: each kind of fault is seen (TAP).
"""
import re
import sys
from collections import Counter, defaultdict

LINE_BYTES = 64
STREAMS = {1: "out", 2: "err"}
# What the program says in an output about what is missing there.
MARK = re.compile(rb"\n?\[pointsman: [^\n]*\]\n")
OPEN = {"queued", "staged", "pending", "executing"}


class Job:
    """What was submitted, and what was done to it."""

    def __init__(self, name, kind, fails=0, code=0, lines=0, ms=0, retries=0,
                 once=False, timeout=None, nodes=(), after=()):
        self.name, self.kind = name, kind
        self.fails, self.code, self.lines, self.ms = fails, code, lines, ms
        self.retries, self.once, self.timeout = retries, once, timeout
        self.nodes, self.after = list(nodes), list(after)
        self.acknowledged = False
        self.cancelled = False      # somebody tried to
        self.cancelled_at = None    # the clock tick at which that was confirmed

    def tasks(self):
        """{node: name of its accounts}"""
        return {node: f"{self.name}.{node}" for node in self.nodes} or \
            {None: self.name}


class Execution:
    def __init__(self, attempt, pid, ticks):
        self.attempt, self.pid, self.ticks = attempt, pid, ticks
        self.bytes = {1: 0, 2: 0}
        self.code = None
        self.cut = False            # it could not write its output


class Account:
    """What the processes of a task said, in order."""

    def __init__(self, text):
        self.executions, self.problems, self.daemons = [], [], 0
        by_attempt = {}
        for line in text.splitlines():
            attempt, pid, word, number = line.split()
            attempt, pid, number = int(attempt), int(pid), int(number)
            last = self.executions[-1].attempt if self.executions else None
            if word == "start":
                if attempt in by_attempt:
                    self.problems.append(f"attempt {attempt} started twice")
                run = Execution(attempt, pid, number)
                by_attempt[attempt] = run
                self.executions.append(run)
                continue
            run = by_attempt.get(attempt)
            if run is None:
                self.problems.append(f"attempt {attempt} did not start")
                continue
            if word in ("daemon", "overlap-daemon"):
                self.daemons += attempt != last or word == "overlap-daemon"
            elif attempt != last:
                problem = f"a process of attempt {attempt} is alive in " \
                    f"attempt {last}"
                if problem not in self.problems:
                    self.problems.append(problem)
            if word == "overlap":
                self.problems.append(
                    f"attempt {attempt} began while a process of another one "
                    "was alive")
            elif word in STREAMS.values():
                stream = 1 if word == "out" else 2
                run.bytes[stream] = number
            elif word == "end":
                run.code = number
            elif word == "broken":
                run.cut = True

    def ends(self):
        return [run.code for run in self.executions if run.code is not None]


def line_of(task, attempt, stream, number):
    head = f"{task} {attempt} {stream} {number} "
    return (head.ljust(LINE_BYTES - 1, ".") + "\n").encode()


def printed(task, attempt, stream, size):
    """The first `size` bytes that an execution prints to a stream."""
    out, number = [], 0
    for _ in range(size // LINE_BYTES + 1):
        while (number % 5 == 4) != (stream == 2):
            number += 1
        out.append(line_of(task, attempt, stream, number))
        number += 1
    return b"".join(out)[:size]


def foreign_line(task, attempt, got):
    """The first line of an output that the task did not print at this place, or
    None. Lines may be missing. Without a stream, those of both are expected.
    got: {stream: pieces of its output}"""
    for stream, pieces in got.items():
        last = {1: -1, 2: -1}
        for line in (line for piece in pieces
                     for line in piece.splitlines(True)):
            words = line.split(b" ")
            if not line.endswith(b"\n"):
                continue  # the end of a piece is missing
            if len(words) != 5 or not words[3].isdigit():
                return line
            number = int(words[3])
            of = 2 if number % 5 == 4 else 1
            if line != line_of(task, attempt, of, number) or \
                    stream not in (None, of) or number <= last[of]:
                return line
            last[of] = number
    return None


def stream_query(stream):
    """The parameters of a request for the output of a stream."""
    return {} if stream is None else {"stream": STREAMS[stream]}


class Judge:
    """jobs: {id: a line of `list --json`}; attempts: {(id, node, attempt): a
    line of `logs --attempts --json`}; output(job, node, attempt, stream)
    returns bytes of one stream or, None, of both; killed: {(pid, start in clock
    ticks)} of the processes that the storm killed; with_cgroup: otherwise
    daemons that closed every descriptor may remain."""

    def __init__(self, plan, accounts, jobs, attempts, output, killed,
                 with_cgroup):
        self.plan, self.jobs, self.attempts = plan, jobs, attempts
        self.accounts = {task: Account(text)
                         for task, text in accounts.items()}
        self.output, self.killed = output, killed
        self.with_cgroup = with_cgroup
        self.problems = []
        self.counts = Counter()
        self.silent = Account("")
        self.by_task = defaultdict(list)
        for (name, node, _), row in attempts.items():
            self.by_task[name, node].append(row)

    def wrong(self, what, text):
        self.problems.append(f"{what}: {text}")

    def judge(self):
        named = {task for job in self.plan.values()
                 for task in job.tasks().values()}
        for task in sorted(set(self.accounts) - named):
            self.wrong(task, "nobody has submitted it")
        for job in self.plan.values():
            for node, task in job.tasks().items():
                self.judge_task(job, node, task)
            self.judge_job(job)
        return self.problems

    # ---- executions ------------------------------------------------------

    def judge_task(self, job, node, task):
        account = self.accounts.get(task, self.silent)
        for problem in account.problems:
            self.wrong(task, problem)
        if account.daemons:
            self.counts["daemons that outlived their task"] += 1
            if self.with_cgroup:
                self.wrong(task, "a daemon of an earlier attempt is alive")
        runs = account.executions
        self.counts["executions"] += len(runs)
        if job.once and len(runs) > 1:
            self.wrong(task, f"is at-most-once and started {len(runs)} times")
        for run in runs:
            row = self.attempts.get((job.name, node, run.attempt))
            if row is None:
                self.wrong(task, f"attempt {run.attempt} is not recorded")
                continue
            self.judge_end(job, task, run, row)
            self.judge_output(job, node, task, run, row)
            if job.cancelled_at is not None and run.ticks > job.cancelled_at:
                self.wrong(task, f"attempt {run.attempt} began after cancel")
        known = {run.attempt for run in runs}
        for row in self.by_task[job.name, node]:
            if row["attempt"] not in known and row["exit_code"] is not None \
                    and row["status"] == "done":
                self.wrong(task, f"attempt {row['attempt']} is recorded as "
                           "done, and never ran")

    def was_killed(self, run):
        return (run.pid, run.ticks) in self.killed

    def judge_end(self, job, task, run, row):
        """The recorded end of an attempt is what happened."""
        what = f"attempt {run.attempt} ({row['status']} {row['reason']})"
        if row["exit_code"] is not None and run.code != row["exit_code"]:
            self.wrong(task, f"{what} has exit code {row['exit_code']}, not "
                       f"{run.code}")
        if row["ended"] is None:
            self.wrong(task, f"{what} has no end")
        lost = any(event["event"] == "lost" for event in row["events"])
        self.counts["interrupted executions"] += run.code is None
        if row["signal"] is not None and run.code is None and not (
                self.was_killed(run) or job.cancelled or job.timeout
                or lost or row["reason"] in ("returned", "recovered",
                                          "at-most-once")):
            self.wrong(task, f"{what}: nobody sent it signal {row['signal']}")

    def judge_output(self, job, node, task, run, row):
        """Every byte that was written is there, or something says that it is
        not."""
        sizes = run.bytes
        mark = None
        if any(event["event"] == "lost" for event in row["events"]):
            mark = "bytes lost with the supervisor"
        elif row.get("lost_reason") and not row.get("lost_origins") or \
                "lost" in row["detail"]:
            mark = "bytes marked as lost"
        # The streams are unknown if a disk was full or the supervisor died.
        for streams in list(STREAMS), [None]:
            got = {stream: MARK.split(self.output(job.name, node, run.attempt,
                                                  stream))
                   for stream in streams}
            foreign = foreign_line(task, run.attempt, got)
            if foreign is None:
                break
            self.counts["executions without streams"] += 1
            if mark is None and not row.get("lost_origins"):
                self.wrong(task, f"attempt {run.attempt} has no streams, and "
                           f"nothing says so: {row}")
        where = f"attempt {run.attempt} ({row['status']} {row['reason']})"
        if foreign is not None:
            self.wrong(task, f"{where} has foreign output: {foreign!r}")
            return
        got = {stream: sum(map(len, pieces)) for stream, pieces in got.items()}
        there = sum(got.values())
        self.counts["bytes present"] += there
        missing = max(0, sum(sizes.values()) - there) if None in got else \
            sum(max(0, sizes[stream] - got[stream]) for stream in STREAMS)
        if missing == 0:
            return
        if mark == "bytes marked as lost" and \
                0 < row.get("lost_bytes", 0) < missing:
            self.wrong(task, f"{where}: {missing} bytes are missing, but "
                       f"{row['lost_bytes']} are counted")
        elif mark:
            self.counts[mark] += missing
        else:
            self.wrong(task, f"{where}: {missing} of {sizes} bytes are missing "
                       f"without a mark: {row}")

    # ---- jobs ------------------------------------------------------------

    def judge_job(self, job):
        row = self.jobs.get(job.name)
        if row is None:
            if job.acknowledged:
                self.wrong(job.name, "was acknowledged and is not there")
            return
        self.counts[f"{row['state']} {row['reason']}"] += 1
        if row["state"] in OPEN:
            self.wrong(job.name, f"never ended: {row}")
        elif row["state"] == "done":
            for task in job.tasks().values():
                runs = self.accounts.get(task, self.silent).executions
                if not runs or runs[-1].code != 0:
                    self.wrong(task, "done, but its last execution was not")
        elif row["state"] == "terminated":
            if not job.cancelled:
                self.wrong(job.name, "nobody has cancelled it")
        elif not self.failed_honestly(job, row):
            self.wrong(job.name, f"failed for no reason: {row}")

    def failed_honestly(self, job, row):
        reason = row["reason"]
        if reason == "at-most-once":
            return job.once
        if reason == "timeout":
            return job.timeout is not None
        if reason == "dep-failed":
            return any(self.jobs[name]["state"] in ("failed", "terminated")
                       for name in job.after)
        if re.fullmatch(r"(exit|signal)-\d+", reason) or \
                job.nodes and reason == "failed":
            return any(self.failed_often(job, task)
                       for task in job.tasks().values())
        return False

    def failed_often(self, job, task):
        """Its last execution failed, after all its retries."""
        runs = self.accounts.get(task, self.silent).executions
        bad = [run.code not in (None, 0) or self.was_killed(run)
               or job.timeout is not None for run in runs]
        return bool(bad) and bad[-1] and sum(bad) > job.retries


# ---- the judge itself --------------------------------------------------------

WELL = "1 10 start 100\n1 10 out 64\n1 10 end 0\n"
AGAIN = "2 11 start 200\n2 11 out 64\n2 11 end 0\n"


def row(attempt=1, **more):
    return {"attempt": attempt, "status": "done", "reason": "ok", "detail": "",
            "exit_code": 0, "signal": None, "ended": "then", "events": [],
            "lost_bytes": 0, "lost_reason": None, **more}


def judged(said, job=None, state=("done", "ok"), rows=None, cut=0, more=b"",
           killed=(), with_cgroup=True):
    job = job or Job("j", "plain", lines=1)
    job.acknowledged = True
    rows = [row()] if rows is None else rows
    jobs = {"j": {"state": state[0], "reason": state[1]}} if state else {}
    judge = Judge({"j": job}, {"j": said} if said else {}, jobs,
                  {("j", None, each["attempt"]): each for each in rows},
                  lambda _, __, attempt, stream: b"" if stream == 2 else
                  printed("j", attempt, 1, 64 - cut) + more,
                  set(killed), with_cgroup)
    return judge.judge()


def lost(attempt):
    return row(attempt, status="backoff", reason="recovered", exit_code=None,
               events=[{"event": "lost"}])


def two_runs(said, **more):
    return judged(said, rows=[lost(1), row(2)], **more)


CUT_SHORT = "1 10 start 100\n1 10 out 64\n"
HONEST = {
    "a job that ran": judged(WELL),
    "a job that was interrupted and ran again": two_runs(CUT_SHORT + AGAIN),
    "output that is marked as lost": judged(
        WELL, cut=9, rows=[row(lost_bytes=9, lost_reason="full")]),
    "output that was lost with the supervisor":
        two_runs(CUT_SHORT + AGAIN.replace("64", "0"), cut=64),
    "without cgroups, a daemon that remains":
        two_runs(CUT_SHORT + AGAIN + "1 12 daemon 0\n", with_cgroup=False),
    "a task that the storm killed": judged(
        CUT_SHORT, state=("failed", "signal-9"), killed=[(10, 100)],
        rows=[row(status="failed", exit_code=None, signal=9)]),
}
DISHONEST = {
    "a job that is lost": judged("", state=None, rows=[]),
    "a job that never ends": judged(WELL, state=("pending", "recovered")),
    "a job that is done and never ran": judged(""),
    "an attempt that is executed twice":
        judged(WELL + WELL.replace("10 start", "11 start")),
    "an attempt that begins while another one is alive":
        two_runs(CUT_SHORT + "2 11 start 200\n2 11 overlap 0\n2 11 end 0\n"),
    "a process that outlives its attempt":
        two_runs(CUT_SHORT + AGAIN + "1 12 alive 0\n"),
    "with cgroups, a daemon that remains":
        two_runs(CUT_SHORT + AGAIN + "1 12 daemon 0\n"),
    "an at-most-once job that runs twice": two_runs(
        CUT_SHORT + AGAIN, job=Job("j", "once", lines=1, once=True)),
    "an attempt that is not recorded":
        judged(CUT_SHORT + AGAIN, rows=[row(2)]),
    "bytes that are lost without a word": judged(WELL, cut=9),
    "more bytes lost than are counted": judged(
        WELL, cut=9, rows=[row(lost_bytes=8, lost_reason="full")]),
    "bytes that nobody wrote": judged(WELL, more=line_of("k", 1, 1, 1)),
    "bytes that are there twice": judged(WELL, more=line_of("j", 1, 1, 0)),
    "an exit code that was not": judged(
        WELL, rows=[row(exit_code=3)], state=("failed", "exit-3")),
    "a signal that nobody sent": judged(
        CUT_SHORT, state=("failed", "signal-9"),
        rows=[row(status="failed", exit_code=None, signal=9)]),
    "a job that was terminated by nobody":
        judged(WELL, state=("terminated", "operator")),
    "a reason that is none": judged(WELL, state=("failed", "crash-exhausted")),
}


def main():
    print(f"1..{len(HONEST) + len(DISHONEST)}")
    verdicts = [(name, not found, found) for name, found in HONEST.items()] + \
        [(name, bool(found), found) for name, found in DISHONEST.items()]
    for number, (name, good, found) in enumerate(verdicts, 1):
        print("not " * (not good)
              + f"ok {number} - the judge of storms: {name}")
        if not good:
            print("#", found)
    return 0 if all(good for _, good, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
