"""Tests `run` in a terminal, under a shell with job control; TAP on stdout.

    python3 terminal.py POINTSMAN
"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
TIMEOUT_S = 120
GRACE_S, TRIES = 10, 5
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


class Terminal:
    """A new interactive shell in a new terminal."""

    def __init__(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.seen = ""
        env = {"PATH": f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}",
               "HOME": str(self.top), "TERM": "dumb", "PS1": "ready> ",
               "PS2": "", "ENV": "", "LC_ALL": "C"}
        env.update({k: v for k, v in os.environ.items() if "SAN_OPTIONS" in k})
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(self.top)
            os.execvpe("sh", ["sh", "-i"], env)
        self.expect("ready> ")
        self.type("pointsman -q init && echo in\\it\n")
        # What is typed before the prompt is echoed in front of it.
        self.expect("^init")
        self.expect("ready> ")

    def type(self, text):
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def expect(self, pattern):
        """Waits for the pattern; returns the output up to its end."""
        until = time.monotonic() + TIMEOUT_S
        while True:
            found = re.search(pattern, self.seen, re.M)
            # The last line may be incomplete.
            if found and not (pattern.endswith("$") and
                              found.end() == len(self.seen)):
                before = self.seen[:found.end()]
                self.seen = self.seen[found.end():]
                return before
            if time.monotonic() > until:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            if select.select([self.fd], [], [], 1)[0]:
                text = os.read(self.fd, 65536).decode(errors="replace")
                self.seen = (self.seen + text).replace("\r\n", "\n")

    def run(self, script, options=""):
        """Starts a task that prints its pid; returns the pid."""
        (self.top / "task").write_text(script)
        self.type(f"pointsman run {options}-- sh ./task\n")
        return int(re.search(r"pid=(\d+)$", self.expect(r"pid=\d+$"))[1])

    def status(self):
        self.type("echo status=$?\n")
        return int(re.search(r"status=(\d+)$", self.expect(r"^status=\d+$"))[1])

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.top, ignore_errors=True)


def state(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return stat[stat.rindex(")") + 2]
    except OSError:
        return "X"


def await_state(pid, states):
    until = time.monotonic() + TIMEOUT_S
    while state(pid) not in states:
        assert time.monotonic() < until, \
            f"state {state(pid)}, expected one of {states}"
        time.sleep(0.01)


# The tasks stopped below start no other program: if a child is stopped between
# vfork and exec, its parent keeps waiting and does not stop.

def ctrl_z_stops_the_task_and_fg_continues_it(terminal):
    pid = terminal.run("echo pid=$$; exec sleep 1000")
    terminal.type(CTRL_Z)
    terminal.expect("Stopped|Suspended")
    await_state(pid, "T")
    terminal.type("fg\n")
    await_state(pid, "SR")
    terminal.type(CTRL_C)
    await_state(pid, "XZ")
    terminal.expect("ready> ")


def bg_continues_the_task_without_the_terminal(terminal):
    os.mkfifo(terminal.top / "go")
    pid = terminal.run("echo pid=$$; read -r line <go; echo went on >went")
    terminal.type(CTRL_Z)
    terminal.expect("Stopped|Suspended")
    await_state(pid, "T")
    terminal.expect("ready> ")
    terminal.type("bg\n")
    await_state(pid, "SR")
    # Otherwise the next line might be echoed before the prompt.
    terminal.expect("ready> ")
    terminal.type("echo >go; wait; cat went\n")
    terminal.expect("^went on$")


def ctrl_c_ends_the_task_with_the_status_of_an_interrupt(terminal):
    pid = terminal.run("echo pid=$$; exec sleep 1000")
    terminal.type(CTRL_C)
    await_state(pid, "XZ")
    terminal.expect("ready> ")
    assert terminal.status() == 130


def a_task_can_handle_ctrl_c_itself(terminal):
    pid = terminal.run("trap 'echo answered; exit 7' INT; trap '' TERM; "
                       "echo pid=$$; while :; do sleep 0.05; done")
    terminal.type(CTRL_C)
    terminal.expect(r"^(\^C)?answered$")
    await_state(pid, "XZ")
    terminal.expect("ready> ")
    assert terminal.status() == 7


def a_task_that_handles_ctrl_c_has_time_for_it(terminal):
    """The terminal has sent INT, so cancelling sends TERM only after the grace
    time, and the task can clean up. If the machine was slower than that, the
    test is repeated."""
    status = 8
    for _ in range(TRIES):
        pid = terminal.run("trap 'sleep 2; echo cleaned; exit 9' INT; "
                           "trap 'echo told; exit 8' TERM; "
                           "echo pid=$$; while :; do sleep 0.05; done")
        typed = time.monotonic()
        terminal.type(CTRL_C)
        terminal.expect("(cleaned|told)$")
        await_state(pid, "XZ")
        terminal.expect("ready> ")
        status = terminal.status()
        if status == 9 or time.monotonic() - typed < GRACE_S:
            break
    assert status == 9, status


def a_task_that_ignores_ctrl_c_gets_term(terminal):
    pid = terminal.run("trap '' INT; trap 'echo told; exit 8' TERM; "
                       "echo pid=$$; while :; do sleep 0.05; done",
                       "--kill-wait 1 ")
    terminal.type(CTRL_C)
    terminal.expect("told$")
    await_state(pid, "XZ")
    terminal.expect("ready> ")
    assert terminal.status() == 8


def ctrl_c_also_ends_a_loop_of_the_shell(terminal):
    terminal.type("for i in 1 2 3; do pointsman run -- "
                  "sh -c 'echo turn=$$; exec sleep 1000'; done; echo o\\ver\n")
    terminal.expect(r"turn=\d+$")
    terminal.type(CTRL_C)
    seen = terminal.expect("ready> ")
    assert "turn" not in seen and "over" not in seen, seen


def quit_is_left_to_the_task(terminal):
    pid = terminal.run("trap 'echo dumped' QUIT; echo pid=$$; "
                       "until test -e go; do sleep 0.05; done; exit 5")
    terminal.type(b"\x1c")
    terminal.expect("dumped$")
    (terminal.top / "go").touch()
    await_state(pid, "XZ")
    terminal.expect("ready> ")
    assert terminal.status() == 5


def a_second_ctrl_c_kills_a_task_that_ignores_signals(terminal):
    pid = terminal.run("trap '' INT TERM; echo pid=$$; "
                       "while :; do sleep 0.05; done")
    terminal.type(CTRL_C)
    terminal.expect("cancelling")
    terminal.type(CTRL_C)
    await_state(pid, "XZ")
    terminal.expect("ready> ")
    assert terminal.status() == 130


PROGRESS = ("echo '40 linking' >&4; until test -e one; do sleep 0.05; done; "
            "echo output; until test -e two; do sleep 0.05; done; "
            "printf '100 done\\033[2J\\n' >&4; "
            "until test -e three; do sleep 0.05; done")


def progress_is_drawn_below_the_output(terminal):
    (terminal.top / "task").write_text(PROGRESS)
    # NO_COLOR removes colours, and nothing else.
    terminal.type("NO_COLOR=1 TERM=xterm pointsman run -- sh ./task\n")
    terminal.expect(r"\r 40% linking\033\[K")
    (terminal.top / "one").touch()
    # The progress is erased, the output printed, and the progress drawn again.
    terminal.expect(r"\r\033\[Koutput\n\r 40% linking\033\[K")
    (terminal.top / "two").touch()
    terminal.expect(r"\r100% done\?\[2J\033\[K")
    (terminal.top / "three").touch()
    terminal.expect(r"\r\033\[K(?=.*ready> )")
    assert terminal.status() == 0


def progress_is_not_drawn_on_a_dumb_terminal(terminal):
    (terminal.top / "task").write_text(PROGRESS)
    for name in "one", "two", "three":
        (terminal.top / name).touch()
    terminal.type("TERM=dumb pointsman run -- sh ./task\n")
    assert "%" not in terminal.expect("output$")
    assert "%" not in terminal.expect("ready> ")


def the_progress_of_an_array_counts_its_tasks(terminal):
    (terminal.top / "task").write_text(
        "until test -e go.$1; do sleep 0.05; done; test $1 != 2")
    terminal.type("pointsman set queue.concurrency 2; TERM=xterm "
                  "pointsman run --id all --array 1-4 -- sh ./task {}\n")
    terminal.expect(r"\r  0% 0 of 4 done, 2 running\033\[K")
    (terminal.top / "go.2").touch()
    (terminal.top / "go.1").touch()
    terminal.expect(r"\r 50% 1 of 4 done, 1 failed, 2 running, \S+, "
                    r"about \S+ left\033\[K")
    (terminal.top / "go.3").touch()
    (terminal.top / "go.4").touch()
    terminal.expect("ready> ")
    assert terminal.status() == 1


def wait_shows_the_progress_of_an_array(terminal):
    (terminal.top / "task").write_text(
        "until test -e go.$1; do sleep 0.05; done")
    terminal.type("pointsman serve --listen off 2>log & "
                  "until grep -q ' serving ' log; do sleep 0.05; done\n")
    terminal.type("pointsman submit --id all --max-running 1 --array 1-4 "
                  "-- sh ./task {}; TERM=xterm pointsman wait all\n")
    terminal.expect(r"\r  0% 0 of 4 done, 1 running\033\[K")
    (terminal.top / "go.1").touch()
    terminal.expect(r"\r 25% 1 of 4 done, 1 running, \S+, about \S+ left"
                    r"\033\[K")
    for number in 2, 3, 4:
        (terminal.top / f"go.{number}").touch()
    terminal.expect("ready> ")
    assert terminal.status() == 0
    terminal.type("kill $!\n")


def a_run_whose_server_is_gone_counts_the_seconds(terminal):
    terminal.type("pointsman serve --listen off 2>log & "
                  "until grep -q ' serving ' log; do sleep 0.05; done; "
                  "echo server=$!\n")
    server = re.search(r"server=(\d+)$", terminal.expect(r"server=\d+$"))[1]
    terminal.expect("^ready> ")
    (terminal.top / "task").write_text("echo begun; exec sleep 1000")
    terminal.type("TERM=xterm pointsman run --id job -- sh ./task\n")
    terminal.expect("^begun")
    os.kill(int(server), signal.SIGKILL)
    terminal.expect("job goes on when a server runs")
    terminal.expect(r"\rno server answers, 1 s\033\[K")
    # Also while it reads the registry, which begins after some seconds.
    terminal.expect(r"\rno server answers, [4-9] s\033\[K")
    terminal.type(CTRL_C)
    terminal.expect(r"\033\[Kpointsman: cancelling job")
    terminal.type(CTRL_C)
    terminal.expect(r"^(\^C)?pointsman: .*the job ends when one starts")
    terminal.expect("^ready> ")
    assert terminal.status() == 130


TESTS = [ctrl_z_stops_the_task_and_fg_continues_it,
         bg_continues_the_task_without_the_terminal,
         ctrl_c_ends_the_task_with_the_status_of_an_interrupt,
         a_task_can_handle_ctrl_c_itself,
         a_task_that_handles_ctrl_c_has_time_for_it,
         a_task_that_ignores_ctrl_c_gets_term,
         ctrl_c_also_ends_a_loop_of_the_shell,
         quit_is_left_to_the_task,
         a_second_ctrl_c_kills_a_task_that_ignores_signals,
         progress_is_drawn_below_the_output,
         progress_is_not_drawn_on_a_dumb_terminal,
         the_progress_of_an_array_counts_its_tasks,
         wait_shows_the_progress_of_an_array,
         a_run_whose_server_is_gone_counts_the_seconds]


def main():
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        terminal = Terminal()
        try:
            test(terminal)
            print(f"ok {number} - {test.__name__}", flush=True)
        except AssertionError as why:
            print(f"not ok {number} - {test.__name__}")
            print(f"# {why}\n# seen: {terminal.seen!r}", flush=True)
        finally:
            terminal.close()


main()
