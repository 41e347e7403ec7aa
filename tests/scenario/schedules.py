"""Schedules that fire every second, among many that were imported from a crontab,
while the server is killed repeatedly; TAP.

    python3 schedules.py POINTSMAN [KILLS [MANY]]

Every instant from the first to the last is fired once or reported as skipped
once, and no job that is at-most-once runs twice.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
MANY = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
TIMEOUT_S = 300
HOME = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-schedules."))
ENV = {**os.environ, "POINTSMAN_BASE": str(HOME / "base")}
ENV.pop("POINTSMAN_SERVER", None)


class Broken(Exception):
    pass


def run(*words, check=True):
    got = subprocess.run([PROGRAM, *words], env=ENV, cwd=HOME, text=True,
                         capture_output=True, timeout=TIMEOUT_S,
                         stdin=subprocess.DEVNULL)
    if check and got.returncode != 0:
        raise Broken(f"{words}: {got.returncode} {got.stderr}")
    return got.stdout


def lines(*words):
    return [json.loads(line) for line in run(*words).splitlines()]


def until(true):
    end = time.monotonic() + TIMEOUT_S
    while not true():
        if time.monotonic() > end:
            raise Broken("timed out")


def fired(name):
    jobs = lines("list", "--all", "--json")
    return [job["id"] for job in jobs if job["id"].startswith(name + ".")]


def start():
    """Starts a server and waits until every schedule has fired once more."""
    before = {name: len(fired(name)) for name in NAMES}
    server = subprocess.Popen([PROGRAM, "serve", "--listen", "off"], env=ENV,
                              cwd=HOME, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    until(lambda: all(len(fired(name)) > before[name] for name in NAMES))
    return server


def epoch(text):
    form = "%Y-%m-%dT%H:%M:%SZ" if "-" in text else "%Y%m%dT%H%M%SZ"
    return int(datetime.strptime(text, form).replace(
        tzinfo=timezone.utc).timestamp())


def skipped_instants(name, events):
    """Returns every instant that an event reports as skipped."""
    found = []
    for event in events:
        if event["kind"] != "schedule" or event["id"] != name:
            continue
        times = re.findall(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
                           event["detail"] or "")
        if event["reason"] in ("skip", "stale", "overlap") and times:
            found += range(epoch(times[0]), epoch(times[-1]) + 1)
    return found


def judge(name, policy, events):
    instants = [epoch(job.split(".")[1]) for job in fired(name)]
    skipped = skipped_instants(name, events)
    both = sorted(instants + skipped)
    if len(both) != len(set(both)):
        raise Broken(f"{name}: an instant is fired or reported twice")
    if both != list(range(both[0], both[-1] + 1)):
        lost = set(range(both[0], both[-1] + 1)) - set(both)
        raise Broken(f"{name}: {sorted(lost)} neither fired nor reported")
    row = lines("cron", "list", "--json", name)[0]
    if row["fired"] != len(instants) or row["left_out"] != len(skipped):
        raise Broken(f"{name}: counted {row['fired']} and {row['left_out']}, "
                     f"expected {len(instants)} and {len(skipped)}")
    reasons = {event["reason"] for event in events
               if event["kind"] == "schedule" and event["id"] == name}
    if policy == "run" and "skip" in reasons:
        raise Broken(f"{name}: an instant is skipped")
    return len(instants), len(skipped)


def judge_once():
    """Every line of the witness is a start of a job that must start once."""
    starts = (HOME / "witness").read_text().split()
    twice = {job for job in starts if starts.count(job) > 1} \
        if len(starts) != len(set(starts)) else set()
    if twice:
        raise Broken(f"started twice: {sorted(twice)}")
    imported = [job for job in starts if job.startswith("tab-")]
    return len(starts), len(imported)


NAMES = []
# Long enough that a kill of the server often meets it.
WITNESS = 'echo "$POINTSMAN_JOB" >>witness; exec sleep 0.3'


def crontab():
    """Imports many lines, each of which fires at another minute of the day."""
    tab = HOME / "tab"
    tab.write_text(f"HOME={HOME}\n" + "".join(
        f"{i % 60} {i // 60 % 24} * * * : {i}; {WITNESS}\n"
        for i in range(MANY)))
    first = run("cron", "import", "tab")
    # An import that is repeated changes nothing.
    if run("cron", "import", "tab") != first:
        raise Broken("a repeated import gives other names")
    names = {row["name"] for row in lines("cron", "list", "--json")}
    if names != {line.split("\t")[0] for line in first.splitlines()} \
            or len(names) != MANY:
        raise Broken(f"{len(names)} schedules of {MANY} lines")


def scenario():
    run("init", ENV["POINTSMAN_BASE"])
    crontab()
    for name, missed in (("caught-up", "run"), ("skipped", "skip")):
        run("cron", "add", "--max-shift", "1h", "--missed", missed, name,
            '{"epoch": {"period": 1}}', "--", "true")
        NAMES.append(name)
    run("cron", "add", "--max-shift", "1h", "--overlap", "allow",
        "--at-most-once", "once", '{"epoch": {"period": 1}}', "--",
        "sh", "-c", WITNESS)
    NAMES.append("once")
    for i in range(KILLS):
        server = start()
        server.send_signal(signal.SIGKILL)
        server.wait()
        if i % 2:
            # Instants pass while no server runs.
            gone = time.time()
            until(lambda: time.time() > gone + 2)
    server = start()
    run("cron", "pause", *NAMES)
    server.terminate()
    server.wait()
    events = lines("events", "--json")
    return [judge("caught-up", "run", events),
            judge("skipped", "skip", events),
            judge("once", "run", events)], judge_once()


def main():
    print("TAP version 13\n1..1")
    try:
        figures, (starts, imported) = scenario()
    except Broken as broken:
        print(f"not ok 1 - {broken}")
        return 1
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    print("ok 1 - every instant is fired or reported once, "
          f"over {KILLS} kills of the server")
    for (fires, skips), name in zip(figures, NAMES):
        print(f"# {name}: {fires} fired, {skips} skipped")
    print(f"# at most once: {starts} starts, {imported} of {MANY} imported "
          "schedules")
    return 0


sys.exit(main())
