"""Ctrl-C at each of the first milliseconds of `run`, with and without a server:
either it ends with 130, and its job does not run afterwards, or the job has
ended before and its exit code is reported. A campaign (tools/campaign); the
sample in ./check counts system calls instead (interrupts.sh).

    python3 interrupt_ms.py POINTSMAN [FIRST [LAST]]
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
FIRST = int(sys.argv[2]) if len(sys.argv) > 2 else 0
LAST = int(sys.argv[3]) if len(sys.argv) > 3 else 200


def call(*words):
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)


def starts(top, name):
    path = top / "starts"
    return path.read_text().split().count(name) if path.exists() else 0


def trial(top, mode, ms, lasts):
    """The failure as a sentence, or None."""
    name = f"{mode}.{ms}.{lasts}"
    process = subprocess.Popen(
        [PROGRAM, "run", "--id", name, "--", "sh", "-c",
         f"echo {name} >>starts; sleep {lasts}; exit 7"],
        cwd=top, stderr=subprocess.DEVNULL)
    time.sleep(ms / 1000)
    process.send_signal(signal.SIGINT)
    status = process.wait()
    before = starts(top, name)
    if mode == "served":
        call("run", "--", "true")
    else:
        call("daemon", "all", "--until-idle")
    if starts(top, name) != before:
        return f"status {status}, and the job ran afterwards"
    state = call("list", "--json", f"id:{name}").stdout
    ended = state == "" or '"terminated"' in state or '"failed"' in state
    if not ended or status not in (-signal.SIGINT, 130, 7):
        return f"status {status}, job {state or 'unknown'}"
    if status == 7 and '"failed"' not in state and '"terminated"' not in state:
        return f"status 7, job {state or 'unknown'}"
    return None


def main():
    top = pathlib.Path(tempfile.mkdtemp(prefix="interrupt"))
    os.environ["POINTSMAN_BASE"] = str(top / "base")
    failed = tried = 0
    call("-q", "init", str(top / "base"))
    (top / "base/conf.d").mkdir(exist_ok=True)
    (top / "base/conf.d/a.conf").write_text("[serve]\nlisten = off\n")
    for mode in "alone", "served":
        server = None
        if mode == "served":
            server = subprocess.Popen([PROGRAM, "serve"],
                                      stderr=subprocess.PIPE, text=True)
            while "serving" not in server.stderr.readline():
                assert server.poll() is None
        for ms in range(FIRST, LAST):
            for lasts in "0.05", "1000":
                why = trial(top, mode, ms, lasts)
                tried += 1
                failed += why is not None
                if why is not None:
                    print(f"{mode}: {ms} ms, task of {lasts} s: {why}",
                          flush=True)
        if server is not None:
            server.terminate()
            server.communicate()
    shutil.rmtree(top, ignore_errors=True)
    print(f"{tried} interrupts, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
