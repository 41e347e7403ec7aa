"""An output that is shown goes on at the very byte after a lost connection,
however it is chosen and shown, also while it grows; TAP on stdout.

    python3 resume.py POINTSMAN
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from unix_http import Connection

PROGRAM = os.path.abspath(sys.argv[1])
SEED = int(os.environ.get("SEED", "1"))
PROGRESS, PLACE = 4, 5

# Lines of both streams, some of which are finished only after the other stream
# has written.
TASK = r"""
import os, sys
for i in range(int(sys.argv[1])):
    os.write(1, b"out %d begins, " % i)
    if i % 3 == 0:
        os.write(2, b"error %d\n" % i)
    if i % 50 == 0:
        os.write(1, b"x" * int(sys.argv[2]))
    os.write(1, b"ends\n")
os.write(1, b"no line feed")
"""

FORMS = ["", "&times=1", "&grep=7", "&times=1&grep=5", "&stream=out",
         "&stream=err&times=1", "&lines=40-300", "&lines=90-&times=1",
         "&tail=33", "&tail=33&stream=err", "&frames=1"]


class Reader:
    """Reads as `run` and `logs -f` do; may lose its connection anywhere."""

    def __init__(self, base, query):
        self.path = str(base / "ctrl" / "sock")
        self.query = query
        self.place = None
        self.out = b""
        self.since = 0

    def read(self, most, once=False):
        """Reads at most so many bytes from a new connection, `once`: what comes
        first. True: all."""
        query = self.query
        if self.place is not None:
            query += "&from=" + urllib.parse.quote(self.place, safe="")
        connection = Connection(self.path)
        connection.request("GET", query)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        data, over = b"", False
        while len(data) < most and not over:
            piece = reply.read1(min(most - len(data), 65536))
            over = piece == b""
            data += piece
            if once:
                break
        connection.close()
        self.decode(data)
        return over

    def decode(self, data):
        again, at = self.since, 0
        while at + 8 <= len(data):
            kind = data[at]
            length = int.from_bytes(data[at + 4:at + 8], "big")
            piece = data[at + 8:at + 8 + length]
            whole = len(piece) == length
            at += 8 + length
            if kind < PROGRESS:
                self.out += piece[again:]
                self.since += len(piece[again:])
                again -= min(again, len(piece))
            elif kind == PLACE and whole:
                self.place, self.since, again = piece.decode(), 0, 0


class World:
    def __init__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="resume"))
        self.base = self.top / "base"
        os.environ["POINTSMAN_BASE"] = str(self.base)
        self.call("-q", "init", str(self.base))
        (self.base / "conf.d").mkdir(exist_ok=True)
        (self.base / "conf.d/a.conf").write_text("[serve]\nlisten = off\n")
        (self.top / "task.py").write_text(TASK)
        self.server = subprocess.Popen([PROGRAM, "serve"],
                                       stderr=subprocess.PIPE)
        while b"serving" not in self.server.stderr.readline():
            assert self.server.poll() is None

    def call(self, *words, check=True, **more):
        return subprocess.run([PROGRAM, *words], cwd=self.top, check=check,
                              stdout=subprocess.PIPE, **more).stdout

    def close(self):
        self.server.terminate()
        self.server.stderr.read()
        self.server.wait()
        shutil.rmtree(self.top, ignore_errors=True)


def compare(world, job, form, whole, draw):
    query = f"/api/v1/jobs/{job}/logs?follow=1&places=1{form}"
    for _ in range(12):
        reader = Reader(world.base, query)
        while not reader.read(draw.choice([9, 100, 3000, 40000, 10**9])
                              + draw.randrange(100)):
            pass
        assert reader.out == whole, \
            f"{form}: {len(reader.out)} bytes, not {len(whole)}"


def an_output_is_resumed_at_the_byte(world, draw):
    world.call("run", "--id", "one", "--", "python3", "task.py", "500", "5000",
               stderr=subprocess.DEVNULL)
    for form in FORMS:
        whole = Reader(world.base,
                       f"/api/v1/jobs/one/logs?follow=1&places=1{form}")
        assert whole.read(10**9) and whole.out
        compare(world, "one", form, whole.out, draw)


def an_output_is_resumed_while_it_grows(world, draw):
    os.mkfifo(world.top / "gate")
    world.call("submit", "--id", "grows", "--", "sh", "-c",
               "python3 task.py 100 50; read -r line <gate; echo 'then 7'")
    readers = {form: Reader(world.base, "/api/v1/jobs/grows/logs?follow=1"
                            f"&places=1{form}")
               for form in ("", "&times=1", "&grep=7")}
    for reader in readers.values():
        while b"97 begins" not in reader.out:
            reader.read(draw.choice([9, 3000, 10**9]), once=True)
    (world.top / "gate").write_text("go\n")
    for form, reader in readers.items():
        while not reader.read(draw.choice([9, 3000, 10**9])):
            pass
        whole = Reader(world.base, "/api/v1/jobs/grows/logs?follow=1"
                       f"&places=1{form}")
        whole.read(10**9)
        assert reader.out == whole.out, form


def attempts_and_tasks_are_resumed_in_their_order(world, draw):
    (world.top / "list").write_text("".join(f"{i}\n" for i in range(40)))
    world.call("run", "--id", "many", "--retries", "1", "--array", "list",
               "--", "sh", "-c", "echo {} of $POINTSMAN_ATTEMPT; "
               "test $POINTSMAN_ATTEMPT = 2 || test {} != 7", check=False)
    whole = Reader(world.base, "/api/v1/jobs/many/logs?follow=1&places=1")
    assert whole.read(10**9)
    assert whole.out.count(b"\n") == 40 and b"7 of 2\n" in whole.out
    compare(world, "many", "", whole.out, draw)


def later_attempts_follow_after_a_lost_connection(world, draw):
    for number in 1, 2, 3:
        os.mkfifo(world.top / f"more{number}")
    world.call("submit", "--id", "again", "--retries", "2", "--", "sh", "-c",
               "read -r line <more$POINTSMAN_ATTEMPT; echo attempt $POINTSMAN_ATTEMPT; exit 1")
    reader = Reader(world.base,
                    "/api/v1/jobs/again/logs?follow=1&places=1&frames=1")
    reader.read(10**9, once=True)
    for number in 1, 2, 3:
        (world.top / f"more{number}").write_text("go\n")
    world.call("wait", "again", check=False, stderr=subprocess.DEVNULL)
    while not reader.read(draw.choice([9, 30, 60, 10**9])):
        pass
    assert reader.out == b"attempt 1\nattempt 2\nattempt 3\n", reader.out


def a_place_that_was_never_sent_is_refused(world, _):
    for place in "", "x", "1.2.3", "1.0.1.2.0.0.0.0.0.0.0.0.":
        connection = Connection(str(world.base / "ctrl" / "sock"))
        connection.request("GET", "/api/v1/jobs/one/logs?from=" + place)
        assert connection.getresponse().status == 400, place
        connection.close()


TESTS = [an_output_is_resumed_at_the_byte,
         an_output_is_resumed_while_it_grows,
         attempts_and_tasks_are_resumed_in_their_order,
         later_attempts_follow_after_a_lost_connection,
         a_place_that_was_never_sent_is_refused]


def main():
    print(f"1..{len(TESTS)}", flush=True)
    world = World()
    for number, test in enumerate(TESTS, 1):
        try:
            test(world, random.Random(SEED))
            print(f"ok {number} - {test.__name__}", flush=True)
        except AssertionError as why:
            print(f"not ok {number} - {test.__name__}\n# {why} (SEED={SEED})",
                  flush=True)
    world.close()


main()
