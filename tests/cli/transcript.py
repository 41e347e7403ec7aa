"""Runs transcripts of terminal sessions and compares the output; prints TAP.

    python3 transcript.py POINTSMAN FILE.t...

Each file runs in a directory of its own:

    # a comment
    $ pointsman submit -- true          a shell command
    | j<ID>                             a line of its standard output
    ! pointsman: ...                    a line of its standard error
    = 0                                 its exit status (default: 0)
    & pointsman serve until FILE        a command that runs until the end of
                                        the transcript; with `until`, the
                                        transcript continues when FILE is not
                                        empty, or is a socket with a listener

In expected lines, <name> stands for any word and `...` for any text; a line
`...` stands for any lines. The first <NAME> in capitals stores the word, and
later ones must be the same. If no output is given for a command, its output is
not compared, but its exit status is.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

WAIT_S = 120


class Step:
    def __init__(self, line, number):
        self.line, self.number = line, number
        self.out, self.err, self.status, self.said = [], [], 0, False


def read(path):
    steps = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(("$ ", "& ")):
            steps.append(Step(line, number))
        elif line.startswith(("| ", "|")) and steps:
            steps[-1].out.append(line[2:])
            steps[-1].said = True
        elif line.startswith(("! ", "!")) and steps:
            steps[-1].err.append(line[2:])
            steps[-1].said = True
        elif line.startswith("= ") and steps:
            steps[-1].status = int(line[2:])
        elif line and not line.startswith("#"):
            raise SystemExit(f"{path}:{number}: invalid line '{line}'")
    return steps


def pattern(lines, known):
    """Returns the expected lines as one regular expression."""
    names, parts = [], []
    for line in lines:
        part = ""
        if line == "...":
            parts.append("(?:.*\\n)*")
            continue
        for piece in re.split(r"(<[A-Z0-9]+>|<[a-z]+>|\.\.\.)", line):
            if piece == "...":
                part += ".*"
            elif re.fullmatch(r"<[A-Z0-9]+>", piece):
                name = piece[1:-1]
                if name in known:
                    part += re.escape(known[name])
                elif name in names:
                    part += f"(?P={name})"
                else:
                    names.append(name)
                    part += f"(?P<{name}>\\S+)"
            elif re.fullmatch(r"<[a-z]+>", piece):
                part += r"\S+"
            else:
                part += re.escape(piece)
        parts.append(part + "\n")
    return "".join(parts)


def compare(what, lines, said, known):
    if said and not said.endswith("\n"):
        said += "\n"
    found = re.fullmatch(pattern(lines, known), said)
    if found:
        known.update(found.groupdict())
        return []
    return [f"{what}:", *["  " + line for line in said.splitlines()],
            "expected:", *["  " + line for line in lines]]


def is_there(path):
    """Returns whether the file is ready: a socket exists before the server
    listens on it, and a lock file before it is locked and written."""
    if not path.is_socket():
        return path.exists() and path.stat().st_size > 0
    parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(f"/proc/self/fd/{parent}/{path.name}")
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    finally:
        os.close(parent)
    return True


class Transcript:
    def __init__(self, program, path):
        self.path, self.known, self.running = path, {}, []
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cli-"))
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("POINTSMAN_", "GIT_"))}
        self.env.update({
            "PATH": f"{pathlib.Path(program).resolve().parent}:"
                    f"{os.environ['PATH']}",
            "HOME": str(self.dir), "TMPDIR": str(self.dir), "LC_ALL": "C",
            "COLUMNS": "80", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@example.org",
        })

    def word(self, line):
        """Returns the command with the stored words in place of <NAME>."""
        for name, value in self.known.items():
            line = line.replace(f"<{name}>", value)
        return line

    def start(self, step):
        command, _, file = step.line[2:].partition(" until ")
        said = tempfile.TemporaryFile("w+", errors="backslashreplace")
        self.running.append(subprocess.Popen(
            ["sh", "-c", "exec " + self.word(command)], cwd=self.dir,
            env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=said))
        end = time.monotonic() + WAIT_S
        while file and not is_there(self.dir / file):
            ended = self.running[-1].poll() is not None
            if ended or time.monotonic() > end:
                said.seek(0)
                return ["the command ended" if ended else
                        f"'{file}' is not ready after {WAIT_S} s", said.read()]
            time.sleep(0.01)
        return []

    def run(self, step):
        if step.line.startswith("& "):
            return self.start(step)
        process = subprocess.Popen(
            ["sh", "-c", self.word(step.line[2:])], cwd=self.dir,
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="backslashreplace",
            start_new_session=True)
        wrong = []
        try:
            out, err = process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            wrong += [f"the command did not end within {WAIT_S} s"]
        if process.returncode != step.status:
            wrong += [f"exit status {process.returncode}, "
                      f"expected {step.status}"]
        if step.said:
            wrong += compare("standard output", step.out, out, self.known)
            wrong += compare("standard error", step.err, err, self.known)
        elif wrong:
            wrong += [out, err]
        return wrong

    def end(self):
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            process.wait(timeout=WAIT_S)
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    program, *paths = sys.argv[1:]
    count = 0
    for path in map(pathlib.Path, paths):
        transcript = Transcript(program, path)
        try:
            for step in read(path):
                count += 1
                wrong = transcript.run(step)
                name = f"{path.stem}:{step.number} {step.line[2:]}"
                name = re.sub(r"[#\\]", " ", name)
                print(("not " if wrong else "") + f"ok {count} - {name}")
                for line in wrong:
                    for one in str(line).splitlines():
                        print("# " + one)
        finally:
            transcript.end()
    print(f"1..{count}")


main()
