"""Ways around approval and roles; TAP, one test for each way.

    python3 ways.py POINTSMAN

A server that runs as root, people with accounts of their own, checks with an
account of theirs, and a policy: sets that touch sec/** need the approval of
olga. Each way is tried by somebody who should not succeed. Afterwards the
branch, the set that waits, the settings, the schedules and the configuration
are as before, no command has run as another account, and no process or file of
the way is believed. ONLY=TEXT tries the ways whose sentence contains TEXT.
"""
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

ACCOUNTS = {"alice": 70001, "alan": 70002, "bob": 70003, "vic": 70004,
            "olga": 70005, "ada": 70006, "eve": 70007, "checks": 70008,
            "gate": 70009}
CONFIG = """[serve]
listen = off
[queue]
poll = 1
[access]
viewer = vic
submitter = alice, alan, bob, checks, person:cleo
operator = olga
admin = ada
shell = gate
[person "alice"]
accounts = alice, alan
principals = alice@example.org
[person "bob"]
accounts = bob
principals = bob@example.org
[person "olga"]
accounts = olga
principals = olga@example.org
[person "cleo"]
principals = cleo@example.org
[target "main"]
blind = allow
user = checks
check.tree = sh check.sh
[approval "sec"]
path = sec/**
role = person:olga
"""
TIMEOUT_S = 60


class Wrong(Exception):
    pass


def must(true, text):
    if not true:
        raise Wrong(text)


# ---- a gate ------------------------------------------------------------------

class Gate:
    """The base, its repository and its server; and what must not change."""

    def __init__(self, top):
        self.top = top
        self.base = top / "base"
        self.git_dir = top / "project.git"
        self.program = top / "pointsman"
        self.made = 0
        self.server = None
        self.env = {"PATH": f"{top}:{os.environ['PATH']}", "LC_ALL": "C",
                    "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1",
                    "POINTSMAN_BASE": str(self.base)}
        for name in "ASAN_OPTIONS", "UBSAN_OPTIONS":
            if name in os.environ:
                self.env[name] = os.environ[name]

    def run(self, *words, account=None, data=None, env=None, cwd=None):
        """Runs the words; account None is root. Never fails by itself."""
        more = {}
        if account is not None:
            more = {"user": ACCOUNTS[account], "group": ACCOUNTS[account],
                    "extra_groups": []}
        return subprocess.run([str(word) for word in words], input=data,
                              env={**self.env, **(env or {})},
                              cwd=cwd or self.top / "open",
                              capture_output=True, timeout=TIMEOUT_S, **more)

    def pm(self, *words, account=None, data=None, env=None):
        return self.run(self.program, *words, account=account, data=data,
                        env=env)

    def good(self, *words, **how):
        got = self.pm(*words, **how)
        must(got.returncode == 0, f"{words}: {got.returncode} {got.stderr}")
        return got.stdout.decode()

    def git(self, *words, data=None):
        got = self.run("git", "-C", self.git_dir, *words, data=data)
        must(got.returncode == 0, f"git {words}: {got.stderr}")
        return got.stdout.decode().strip()

    def begin(self):
        (self.top / "open").mkdir(mode=0o777)
        os.chmod(self.top / "open", 0o1777)
        self.run("git", "init", "-q", "--bare", self.git_dir)
        os.chmod(self.git_dir, 0o700)
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        blob = self.git("hash-object", "-w", "--stdin", data=b"one\n")
        check = self.git("hash-object", "-w", "--stdin", data=b"true\n")
        sec = self.git("mktree", data=f"100644 blob {blob}\tx\n".encode())
        tree = self.git("mktree", data=(
            f"100644 blob {blob}\ta\n100644 blob {check}\tcheck.sh\n"
            f"040000 tree {sec}\tsec\n").encode())
        commit = self.git("-c", "user.name=A", "-c", "user.email=a@b",
                          "commit-tree", "-m", "The beginning", tree)
        self.git("update-ref", "refs/heads/main", commit)
        self.good("-q", "init", "--target", f"main={self.git_dir}", self.base)
        (self.base / "conf.d").mkdir(exist_ok=True)
        (self.base / "conf.d/gate.conf").write_text(CONFIG)
        for name in "alice", "bob", "olga", "eve":
            key = self.top / "open" / name
            self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
            os.chown(key, ACCOUNTS[name], ACCOUNTS[name])
        with open(self.base / "allowed_signers", "w") as signers:
            for name in "alice", "bob", "olga":
                public = (self.top / "open" / f"{name}.pub").read_text()
                signers.write(f"{name}@example.org {public}")
        self.good("config", "check")
        self.start()
        self.submit("alice", self.pack("held", {"sec/x": b"two\n"}))
        self.submit("alice", self.pack("plain", {"a": b"two\n"}))
        self.good("submit", "--id", "waits", "--hold", "--", "true",
                  account="bob")
        self.good("cron", "add", "nightly", "0 1 1 1 *", "--", "true",
                  account="olga")
        self.idle()
        must(self.state("plain") == "D", "an innocent set did not land")
        must(self.state("held") == "Q", "the set is not held")
        self.good("run", "--env", "POINTSMAN_BASE", "--", "pointsman",
                  "submit", "--", "true", account="alice")

    def start(self):
        log = open(self.top / "serve.log", "ab")
        self.server = subprocess.Popen([self.program, "serve"], env=self.env,
                                       cwd=self.top, stderr=log,
                                       stdin=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT_S
        while self.pm("status").returncode != 0 or \
                not (self.base / "ctrl/sock").exists():
            must(self.server.poll() is None, "the server ended")
            must(time.monotonic() < end, "the server did not start")

    def end(self):
        if self.server is not None and self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(TIMEOUT_S)

    # ---- what people do

    def pack(self, name, files, meta=(), members=None, target="main",
             listed=None):
        """Writes a tarball; files: path to bytes, or None to delete."""
        self.made += 1
        tai = f"@{0x400000000000000a + int(time.time()) - 1000:016x}" \
              f"{self.made:08x}"
        path = self.top / "open" / f"{name}_{tai}_1_host_DC"
        text = "##movetype\nDC\n"
        if target is not None:
            text += f"##target\n{target}\n"
        text += "##files\n" + "".join(f"{file}\n"
                                      for file in listed or files)
        text += "".join(f"{line}\n" for line in meta)
        with tarfile.open(path, "w") as tar:
            for member, data in [("meta", text.encode()),
                                 *((f"lroot/{file}", data) for file, data
                                   in files.items() if data is not None)]:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            for info, data in members or []:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        os.chmod(path, 0o644)
        return path

    def submit(self, account, path):
        return self.pm("change", "submit", path, account=account)

    def put(self, account, path):
        return self.pm("change", "put", path, account=account)

    def both(self, account, name, files, **how):
        """By both routes, under two names."""
        self.submit(account, self.pack(name + "1", files, **how))
        self.put(account, self.pack(name + "2", files, **how))

    def drop(self, account, name, data):
        """Writes a file into prequeue/ as that account."""
        return self.run("sh", "-c", 'cat >"$0" && chmod 644 "$0"',
                        self.base / "prequeue" / name, account=account,
                        data=data)

    def connected(self, account, function):
        """What the function returns for a socket that the account opened."""
        end = socket.socket(socket.AF_UNIX)
        stays, done = os.pipe()
        ready, connected = os.pipe()
        child = os.fork()
        # The peer of a socket is the process that connected it.
        if child == 0:
            os.close(done)
            if account is not None:
                os.setgroups([])
                os.setresgid(*[ACCOUNTS[account]] * 3)
                os.setresuid(*[ACCOUNTS[account]] * 3)
            end.connect(str(self.base / "ctrl/sock"))
            os.close(connected)
            os.read(stays, 1)
            os._exit(0)
        os.close(stays)
        os.close(connected)
        os.read(ready, 1)
        try:
            with end:
                return function(end)
        finally:
            os.close(ready)
            os.close(done)
            os.waitpid(child, 0)

    def http(self, account, method, path, body=None, **headers):
        """A request over the socket, written by hand; the reply."""
        def request(end):
            call = http.client.HTTPConnection("localhost")
            call.sock = end
            end.settimeout(TIMEOUT_S)
            call.request(method, path,
                         None if body is None else json.dumps(body),
                         {"Content-Type": "application/json",
                          "Connection": "close", **headers})
            return call.getresponse().read().decode()
        try:
            return self.connected(account, request)
        except (OSError, http.client.HTTPException) as broken:
            return str(broken)

    def shell(self, line, person="cleo", account="gate", data=None):
        return self.pm("shell", "--as", person, "--base", self.base,
                       account=account, data=data,
                       env={"SSH_ORIGINAL_COMMAND": line})

    def text_for(self, name, ident="held"):
        return self.pm("approve", "--print", "--as", f"{name}@example.org",
                       ident, account="olga").stdout

    def sign(self, key, text, namespace="cq-approve"):
        """The text followed by its signature."""
        file = self.top / "open" / f"text{self.made}"
        self.made += 1
        file.write_bytes(text)
        self.run("ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f",
                 self.top / "open" / key, file)
        return text + pathlib.Path(f"{file}.sig").read_bytes()

    def give(self, account, signed, ident="held"):
        """A signed text, by both routes."""
        file = self.top / "open" / f"signed{self.made}"
        self.made += 1
        file.write_bytes(signed)
        os.chmod(file, 0o644)
        self.pm("approve", "--signature", file, ident, account=account)
        self.drop(account, f"approve_{ident}", signed)

    def task(self, account, *words, user=None):
        """Runs the words as a job of that account and waits for its end."""
        return self.pm("run", "--env", "POINTSMAN_BASE",
                       *(["--user", user] if user else []), "--", *words,
                       account=account)

    # ---- what must not change

    def live(self):
        jobs = [json.loads(line) for line in
                self.good("list", "--json").splitlines()]
        return [job for job in jobs if job["state"][0] not in "DFTAdftac"]

    def idle(self):
        """Until nothing waits in prequeue/ and whatever runs has ended. A set
        that can be staged is staged in the turn that admits it."""
        end = time.monotonic() + TIMEOUT_S
        prequeue = self.base / "prequeue"
        while True:
            busy = [name for name in os.listdir(prequeue)
                    if stat.S_ISREG(os.lstat(prequeue / name).st_mode)]
            busy += [job["id"] for job in self.live()
                     if job["state"][0] not in "QSqs" and not job["holds"]]
            if not busy:
                return
            must(time.monotonic() < end, f"never idle: {busy} "
                 f"{self.pm('why', busy[0]).stdout}")

    def clear(self):
        """Cancels what a way left waiting."""
        for job in self.live():
            if job["id"] not in ("held", "waits"):
                self.pm("cancel", job["id"])
        for name in os.listdir(self.base / "prequeue"):
            file = self.base / "prequeue" / name
            if not file.is_dir() or file.is_symlink():
                file.unlink()

    def state(self, ident):
        got = self.pm("status", "--json", ident)
        if got.returncode != 0:
            return "-"
        return json.loads(got.stdout)["state"][0].upper()

    def facts(self):
        """Everything that nobody here may change."""
        history = self.good("history", "--json", "held")
        conf = {str(path): path.read_bytes() for path in
                [self.base / "pointsman.conf", self.base / "allowed_signers",
                 *sorted((self.base / "conf.d").iterdir())]}
        kinds = [json.loads(line)["kind"] for line in history.splitlines()]
        return {
            "sec/": self.git("rev-parse", "main:sec"),
            "state of the waiting set": self.state("held"),
            "approvals": kinds.count("approved"),
            "settings": self.http(None, "GET", "/api/v1/settings"),
            "schedules": self.good("cron", "list", "--json"),
            "a job of somebody else": self.state("waits"),
            "configuration": conf,
            "server": self.server.poll(),
        }

    def proofs(self):
        """Accounts under which commands of a way ran: 'account ran-as'."""
        found = []
        for file in (self.top / "open").glob("proof.*"):
            found.append((file.name.split(".")[1], file.stat().st_uid))
            file.unlink()
        return found


def proof(gate, account):
    """A command that leaves a file owned by whoever it runs as."""
    gate.made += 1
    return ["sh", "-c", f": >{gate.top}/open/proof.{account}.{gate.made}"]


# ---- the ways ----------------------------------------------------------------

WAYS = []


def way(sentence):
    def add(function):
        WAYS.append((sentence, function))
        return function
    return add


def simple(sentence, *words, account="alice", data=None):
    WAYS.append((sentence, lambda gate: must(
        gate.pm(*words, account=account, data=data).returncode != 0,
        "it was accepted")))


def inside(sentence, account, *words):
    """From inside a task of that account."""
    WAYS.append((f"inside a task of {account}: {sentence}",
                 lambda gate: gate.task(account, *words)))


def shell(sentence, line, data=None, **how):
    WAYS.append((f"over ssh: {sentence}", lambda gate: must(
        gate.shell(line, data=data, **how).returncode != 0,
        "it was accepted")))


# Approval over the socket
simple("the submitter approves", "approve", "held")
simple("the submitter approves with his other account", "approve", "held",
       account="alan")
simple("a submitter without the role of the policy approves", "approve",
       "held", account="bob")
simple("a viewer approves", "approve", "held", account="vic")
simple("a stranger approves", "approve", "held", account="eve")
simple("an admin who is not the person approves", "approve", "held",
       account="ada")
simple("the account of the checks approves", "approve", "held",
       account="checks")
simple("the shell account approves without a person", "approve", "held",
       account="gate")
simple("the submitter releases the set", "release", "held")


@way("a request names another actor in its body and headers")
def _(gate):
    for body in {"by": "olga"}, {"actor": "olga", "uid": 70005}, \
            {"person": "olga", "principal": "olga@example.org"}:
        gate.http("alice", "POST", "/api/v1/jobs/held/approve", body)
    for header in "X-Pointsman-Person", "Pointsman-Person", "X-Remote-User", \
            "X-Forwarded-User", "Authorization", "Pointsman-Account":
        for account in "alice", "eve", "checks":
            gate.http(account, "POST", "/api/v1/jobs/held/approve", {},
                      **{header: "olga"})


@way("a request names another person by every header that the program knows")
def _(gate):
    program = gate.program.read_bytes()
    for word in b"Pointsman-Person", b"X-Pointsman-Person", b"Pointsman-As":
        if word in program:
            gate.http("bob", "POST", "/api/v1/jobs/held/approve", {},
                      **{word.decode(): "olga"})


@way("the approval of a set that was not submitted, by its submitter")
def _(gate):
    path = gate.pack("later", {"sec/x": b"later\n"})
    gate.pm("approve", "--tarball", path, "--print", account="alice")
    gate.http("alice", "POST", "/api/v1/approvals",
              {"id": "later", "by": "olga@example.org"})
    gate.submit("alice", path)


@way("requests whose path is written in another way")
def _(gate):
    for path in "/api/v1/jobs/held/approve/", "/api/v1/jobs//held/approve", \
            "/api/v1/jobs/%68eld/approve", "/api/v1/jobs/held/%61pprove", \
            "/api/v1/jobs/x/../held/approve", "/API/v1/jobs/held/approve", \
            "/api/v1/jobs/held/approve?by=olga":
        gate.http("bob", "POST", path, {})


# Signatures
@way("the submitter signs with his own key")
def _(gate):
    gate.give("alice", gate.sign("alice", gate.text_for("alice")))


@way("the submitter signs with his own key in the name of the approver")
def _(gate):
    gate.give("alice", gate.sign("alice", gate.text_for("olga")))


@way("somebody who may not approve signs")
def _(gate):
    gate.give("bob", gate.sign("bob", gate.text_for("bob")))


@way("a key that nobody lists signs in the name of the approver")
def _(gate):
    gate.give("alice", gate.sign("eve", gate.text_for("olga")))


@way("the approver's signature of another set")
def _(gate):
    gate.submit("alice", gate.pack("other", {"sec/y": b"y\n"}))
    signed = gate.sign("olga", gate.text_for("olga", "other"))
    gate.give("alice", signed)
    gate.pm("cancel", "other", account="alice")


@way("the approver's signature of another set, with the id changed")
def _(gate):
    gate.submit("alice", gate.pack("other3", {"sec/y": b"y\n"}))
    signed = gate.sign("olga", gate.text_for("olga", "other3"))
    gate.give("alice", signed.replace(b"other3", b"held"))
    gate.pm("cancel", "other3", account="alice")


@way("the approver's signature in another namespace")
def _(gate):
    gate.give("alice", gate.sign("olga", gate.text_for("olga"), "git"))


@way("the approver's signature of a text with another checksum")
def _(gate):
    text = gate.text_for("olga")
    gate.give("alice", gate.sign("olga", text.replace(b"sum ", b"sum 0")))


@way("a text without a signature, and one with half of it")
def _(gate):
    gate.give("alice", gate.text_for("olga"))
    gate.give("alice", gate.sign("alice", gate.text_for("olga"))[:-40])


@way("two signatures in one file, a good one of another set first")
def _(gate):
    gate.submit("alice", gate.pack("other4", {"sec/y": b"y\n"}))
    first = gate.sign("olga", gate.text_for("olga", "other4"))
    gate.give("alice", first + gate.sign("alice", gate.text_for("olga")))
    gate.pm("cancel", "other4", account="alice")


@way("the list of signers is in the set")
def _(gate):
    key = (gate.top / "open/alice.pub").read_bytes()
    gate.both("alice", "signers", {"allowed_signers": b"olga@example.org "
                                   + key, ".pointsman/allowed_signers": key})
    gate.give("alice", gate.sign("alice", gate.text_for("olga")))


# Approval through files
for account in "alice", "alan", "bob", "vic", "eve", "checks":
    def dropped(gate, account=account):
        gate.drop(account, "approve_held", b"")
        gate.drop(account, "approve_held", b"approved by olga\n")
    WAYS.append((f"a file approve_held of {account}", dropped))


@way("a hard link to a file of the approver")
def _(gate):
    (gate.top / "open/olgas").write_bytes(b"")
    os.chown(gate.top / "open/olgas", ACCOUNTS["olga"], ACCOUNTS["olga"])
    gate.run("ln", gate.top / "open/olgas", gate.base / "prequeue/approve_held",
             account="alice")


@way("symbolic links, FIFOs and directories in prequeue/")
def _(gate):
    for kind in "ln -s /etc/shadow", "ln -s ../ctrl/registry.db", "mkfifo", \
            "mkdir", "ln -s approve_held":
        gate.run("sh", "-c", f"{kind} approve_held; rm -rf approve_held",
                 account="alice", cwd=gate.base / "prequeue")


@way("a marker of one account for the data of another")
def _(gate):
    path = gate.pack("theirs", {"sec/x": b"theirs\n"})
    gate.run("cp", path, gate.base / "data", account="alice")
    gate.drop("olga", path.name, b"")
    # It waits for data of its own account.
    gate.put("alice", gate.pack("after", {"d": b"d\n"}))
    end = time.monotonic() + TIMEOUT_S
    while gate.state("after") == "-":
        must(time.monotonic() < end, "files are not looked at")
    must(gate.state("theirs") == "-", "it was taken in")
    (gate.base / "prequeue" / path.name).unlink(missing_ok=True)


@way("data that change after they were admitted")
def _(gate):
    path = gate.pack("swap", {"b": b"b\n"})
    gate.put("alice", path)
    evil = gate.pack("swap", {"sec/x": b"evil\n"})
    for _ in range(50):
        gate.run("cp", evil, gate.base / "data" / path.name, account="alice")


@way("commands and settings as files")
def _(gate):
    for name, text in ("run.job", "user = root\ncommand = id\n"), \
            ("held", "##approval\nolga\n"), ("set_queue.concurrency", "9"), \
            ("release_held", ""), ("job_x", json.dumps({"command": ["id"],
                                                        "user": "root"})):
        gate.drop("alice", name, text.encode())


# Paths
for number, path in enumerate(["./sec/x", "sec//x", "sec/./x", "a/../sec/x",
                               "/sec/x", "sec/x/", "lroot/../sec/x",
                               "sec\\x/../../sec/x", "../project.git/HEAD"]):
    def spelled(gate, path=path, number=number):
        gate.both("alice", f"spelled{number}", {path: b"evil\n"})
    WAYS.append((f"a set with the path {path}", spelled))


@way("a file in the tarball that is not listed")
def _(gate):
    gate.both("alice", "unlisted", {"c": b"c\n", "sec/x": b"evil\n"},
              listed=["c"])


@way("a listed path that is a directory of the policy")
def _(gate):
    gate.both("alice", "directory", {"sec": b"evil\n"})


@way("a symbolic link into the path, and a file through it")
def _(gate):
    link = tarfile.TarInfo("lroot/way")
    link.type, link.linkname = tarfile.SYMTYPE, "sec"
    gate.both("alice", "link", {"way/x": b"evil\n"}, members=[(link, b"")],
              listed=["way", "way/x"])


@way("a hard link in the tarball")
def _(gate):
    link = tarfile.TarInfo("lroot/sec/x")
    link.type, link.linkname = tarfile.LNKTYPE, "lroot/c"
    gate.both("alice", "hard", {"c": b"evil\n"}, members=[(link, b"")])


@way("a tarball that has a member twice")
def _(gate):
    again = tarfile.TarInfo("meta")
    gate.both("alice", "twice", {"c": b"c\n"}, members=[
        (again, b"##movetype\nDC\n##target\nmain\n##files\nsec/x\n"),
        (tarfile.TarInfo("lroot/sec/x"), b"evil\n")])


@way("a path in a pax header")
def _(gate):
    member = tarfile.TarInfo("lroot/c")
    member.pax_headers = {"path": "lroot/sec/x"}
    gate.both("alice", "pax", {}, members=[(member, b"evil\n")], listed=["c"])


@way("the set deletes the file, or gives it another mode")
def _(gate):
    gate.both("alice", "deletes", {"sec/x": None}, listed=["-sec/x"])
    gate.both("alice", "deletes3", {"sec/x": None}, listed=["sec/x"])
    member = tarfile.TarInfo("lroot/sec/x")
    member.mode = 0o755
    gate.both("alice", "mode", {}, members=[(member, b"one\n")],
              listed=["sec/x"])


@way("a group with an innocent set")
def _(gate):
    gate.both("alice", "group", {"sec/x": b"evil\n"}, meta=["##group", "g1"])
    gate.both("alice", "groups", {"c": b"c\n"}, meta=["##group", "g1"])


@way("a set that depends on the waiting one, or supersedes it")
def _(gate):
    gate.both("alice", "behind", {"c": b"d\n"},
              meta=["##dependencies", "held"])
    gate.both("alice", "instead", {"c": b"e\n"}, meta=["##supersedes", "held"])
    for ident in "behind1", "behind2", "instead1", "instead2":
        gate.pm("cancel", ident, account="alice")


@way("the id of the waiting set with other content")
def _(gate):
    gate.both("alice", "held", {"c": b"f\n"})
    gate.submit("bob", gate.pack("held", {"c": b"g\n"}))


@way("a base on a commit of a branch of one's own")
def _(gate):
    gate.both("alice", "based", {"c": b"h\n"},
              meta=["##base", "0123456789" * 4])
    gate.both("alice", "stacked", {"c": b"h\n"},
              meta=["##base-set", "held", "##base-tree", "0123456789" * 4])


@way("another class or target")
def _(gate):
    for number, (target, lines) in enumerate([
            ("refs/heads/main", ()), (None, ()), ("main ", ()),
            ("MAIN", ()), ("main", ("##movetype", "EM"))]):
        gate.both("alice", f"target{number}", {"sec/x": b"evil\n"},
                  target=target, meta=lines)


@way("the set brings its own approval")
def _(gate):
    gate.both("alice", "own", {"sec/x": b"evil\n"},
              meta=["##approval", "olga@example.org", "##actor", "olga",
                    "##author", "Olga <olga@example.org>"])


@way("a rollback by a submitter")
def _(gate):
    gate.pm("rollback", "--yes", "plain", account="alice")
    gate.pm("rollback", "plain", account="bob")
    for line in gate.good("list", "--json").splitlines():
        job = json.loads(line)
        if job["id"].startswith("rb") or job.get("class") == "RB":
            gate.pm("cancel", job["id"])


# Roles
simple("a submitter changes a setting", "set", "queue.concurrency", "9")
simple("an operator changes a setting", "set", "queue.concurrency", "9",
       account="olga")
simple("a submitter adds a schedule", "cron", "add", "mine", "* * * * *",
       "--", "true")
simple("a submitter removes a schedule", "cron", "remove", "nightly")
simple("a submitter pauses a schedule", "cron", "pause", "nightly")
simple("a submitter cancels the job of another", "cancel", "waits")
simple("a submitter releases the job of another", "release", "waits")
simple("a viewer submits", "submit", "--", "true", account="vic")
simple("a stranger lists", "list", account="eve")
simple("a submitter rebuilds the registry", "fsck", "--rebuild")
simple("a submitter makes a backup", "backup", "stolen")
simple("a submitter reads the configuration", "config", "show")
simple("a submitter starts a server of his own", "serve")
simple("a submitter starts the roles of his own", "daemon", "all", "--once")
simple("a submitter writes the projection", "daemon", "queue", "--once")


@way("bulk verbs reach only one's own jobs")
def _(gate):
    for verb in "cancel", "release", "hold":
        gate.pm(verb, "--match", "state:P", "--yes", account="alice")
        gate.http("alice", "POST", "/api/v1/bulk",
                  {"verb": verb, "match": "state:P"})


@way("a command under another account")
def _(gate):
    for user in "root", "olga", "ada", "checks", "0", "gate", "bob":
        for verb in "submit", "run":
            gate.pm(verb, "--user", user, "--", *proof(gate, "alice"),
                    account="alice")
        gate.http("alice", "POST", "/api/v1/jobs",
                  {"command": proof(gate, "alice"), "user": user})
        gate.pm("submit", "--batch", "-", account="alice", data=json.dumps(
            {"command": proof(gate, "alice"), "user": user}).encode())


@way("a command without an account runs as who submitted it")
def _(gate):
    for account in "alice", "bob", "olga":
        gate.task(account, *proof(gate, account))
        gate.pm("submit", "--array", "1,2", "--", *proof(gate, account),
                account=account)


@way("an operator's schedule does not run as root")
def _(gate):
    gate.pm("cron", "add", "proof", "0 1 1 1 *", "--", *proof(gate, "olga"),
            account="olga")
    gate.pm("cron", "run", "proof", account="olga")
    gate.pm("cron", "add", "proof", "--user", "root", "0 1 1 1 *", "--",
            *proof(gate, "olga"), account="olga")
    gate.pm("cron", "run", "proof", account="olga")
    gate.idle()
    gate.pm("cron", "remove", "proof", account="olga")


@way("the job of another is tried again under one's own eyes")
def _(gate):
    gate.pm("retry", "waits", account="alice")
    gate.http("alice", "POST", "/api/v1/jobs/waits/retry", {})


# Files of the base and the repository
@way("files of the base and of the repository are read and written")
def _(gate):
    for account in "alice", "checks", "gate", "eve", "ada":
        for file in "ctrl/registry.db", "pointsman.conf", "allowed_signers", \
                "conf.d/gate.conf", "log", "queue", "attempts":
            path = gate.base / file
            for test in ("-w",) if file == "allowed_signers" else ("-r", "-w"):
                got = gate.run("test", test, path, account=account)
                must(got.returncode != 0, f"{account} {test} {file}")
        got = gate.run("git", "-C", gate.git_dir, "update-ref",
                       "refs/heads/main", "main~1", account=account)
        must(got.returncode != 0, f"{account} moved the branch")


@way("signals to the server")
def _(gate):
    for account in "alice", "checks", "gate":
        for name in "TERM", "HUP", "KILL", "USR2":
            got = gate.run("kill", f"-{name}", gate.server.pid,
                           account=account)
            must(got.returncode != 0, f"{account} {name}")


@way("bytes in the FIFOs and rubbish on the socket")
def _(gate):
    for fifo in (gate.base / "ctrl").glob("*_fifo"):
        gate.run("sh", "-c", f"printf 'approve held' >'{fifo}'",
                 account="alice")
    def rubbish(end):
        end.sendall(b"POST /api/v1/jobs/held/approve HTTP/1.1\r\nHost: x\r\n"
                    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"{}GET /x HTTP/1.1\r\n\r\n")
        end.settimeout(TIMEOUT_S)
        return end.recv(9)
    gate.connected("bob", rubbish)


@way("a base of one's own on the same repository")
def _(gate):
    own = gate.top / "open/own"
    gate.pm("-q", "init", "--target", f"main={gate.git_dir}", own,
            account="alice")
    env = {"POINTSMAN_BASE": str(own)}
    gate.pm("change", "submit", gate.pack("mine", {"sec/x": b"evil\n"}),
            account="alice", env=env)
    gate.pm("daemon", "all", "--until-idle", account="alice", env=env)


# From inside tasks
inside("approves", "alice", "pointsman", "approve", "held")
inside("approves, with a script of somebody else", "olga", "pointsman",
       "approve", "held")
inside("approves in a session of its own", "olga", "setsid", "pointsman",
       "approve", "held")
inside("approves after a double fork", "olga", "sh", "-c",
       "(setsid pointsman approve held &) & wait; pointsman wait --timeout 1 "
       "nothing")
inside("approves without its environment", "olga", "env", "-i",
       "PATH=/usr/bin:/bin", "sh", "-c",
       'exec "$0" --base "$1" approve held', "pointsman", "base")
inside("changes a setting", "ada", "pointsman", "set", "queue.concurrency",
       "9")
inside("changes a setting, submitted by an admin's task", "ada", "pointsman",
       "run", "--", "pointsman", "set", "queue.concurrency", "9")
inside("signs with a key it finds", "olga", "pointsman", "approve",
       "--sign-with", "/nonexistent", "held")
inside("cancels the job of another", "alice", "pointsman", "cancel", "waits")
inside("adds a schedule", "alice", "pointsman", "cron", "add", "mine",
       "* * * * *", "--", "true")


@way("inside a task of olga: leaves its cgroup")
def _(gate):
    gate.task("olga", "sh", "-c",
              "for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do "
              "echo $$ >$d/cgroup.procs; done 2>/dev/null; "
              "exec pointsman approve held")


def as_other(sentence, account, *words):
    """From inside a task of that account that runs as bob, a submitter."""
    def function(gate):
        more = proof(gate, "eve") if words[-1] == "--" else []
        got = gate.task(account, *words, *more, user="bob")
        must(got.returncode != 0, "it was accepted")
    WAYS.append((f"inside a task of {account or 'root'} that runs as bob: "
                 f"{sentence}", function))


for who in None, "ada":
    as_other("submits a command", who, "pointsman", "submit", "--")
    as_other("rolls a set back", who, "pointsman", "rollback", "plain")
    as_other("cancels the job of another", who, "pointsman", "cancel", "held")


@way("inside a task of root that runs as bob: submits a set of bob")
def _(gate):
    path = gate.pack("second", {"sec/x": b"evil\n"})
    got = gate.task(None, "pointsman", "change", "submit", path, user="bob")
    must(got.returncode != 0, "it was accepted")


@way("a process that connected and ended before it was examined")
def _(gate):
    end = socket.socket(socket.AF_UNIX)
    gate.server.send_signal(signal.SIGSTOP)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(*[ACCOUNTS["alice"]] * 3)
        os.setresuid(*[ACCOUNTS["alice"]] * 3)
        end.connect(str(gate.base / "ctrl/sock"))
        os._exit(0)
    os.waitpid(child, 0)
    gate.server.send_signal(signal.SIGCONT)
    call = http.client.HTTPConnection("localhost")
    with end:
        call.sock = end
        end.settimeout(TIMEOUT_S)
        call.request("POST", "/api/v1/jobs/held/cancel", "{}",
                     {"Content-Type": "application/json"})
        must(call.getresponse().status == 403, "it was accepted")


CHECKED = {
    "submits a command":
        "pointsman --base {base} submit -- true && : >{top}/open/proof.eve.0",
    "rolls a set back":
        "pointsman --base {base} rollback plain && : >{top}/open/proof.eve.0",
    "cancels a set of its submitter": "pointsman --base {base} cancel held",
    "approves": "pointsman --base {base} approve held",
    "moves the branch": "git -C {git} update-ref refs/heads/main HEAD~1",
    "writes to the repository": "cp -r sec {git}/objects; echo >>{git}/HEAD",
    "writes to the registry": "echo >>{base}/ctrl/registry.db",
    "changes its tree after it passed":
        "(while :; do echo evil >sec/x; done) & sleep 0",
    "changes the file of the policy": "echo evil >sec/x; git add sec/x",
    "writes a configuration": "echo '[access]' >{base}/conf.d/z.conf",
    "kills the server": "kill -KILL {pid}; pkill -KILL pointsman",
    "submits in the name of another": ": >{base}/prequeue/approve_held",
    "leaves a process behind that approves":
        "(setsid sh -c 'while :; do pointsman --base {base} approve held; "
        "done' &)",
}
for what, script in CHECKED.items():
    def checked(gate, script=script, what=what):
        gate.made += 1
        ident = f"check{gate.made}"
        text = script.format(base=gate.base, git=gate.git_dir, top=gate.top,
                             pid=gate.server.pid)
        text = f"PATH={gate.top}:$PATH\npointsman --base {gate.base} list " \
            f">/dev/null || exit 1\n({text}) >/dev/null 2>&1\n" \
            f"id -u >{gate.top}/open/as.{ident}"
        text = f"{text}\nchmod 666 {gate.top}/open/as.{ident}\nexit 1\n"
        gate.submit("alice", gate.pack(ident, {"check.sh": text.encode()}))
        gate.pm("wait", ident)
        as_file = gate.top / "open" / f"as.{ident}"
        must(as_file.exists(), "the check did not run")
        must(as_file.read_text().strip() == str(ACCOUNTS["checks"]),
             f"the check ran as {as_file.read_text()}")
    WAYS.append((f"inside a check: {what}", checked))


# Over ssh
shell("a person without the role approves", "approve held")
shell("the verb in other words", "pointsman approve held")
shell("another person", "shell --as olga approve held")
shell("another person by an option", "approve --as olga@example.org held")
shell("two commands", "list; pointsman approve held")
shell("a pipe", "status held | pointsman approve held")
shell("a substitution", "status $(pointsman approve held)")
shell("a file of the server", "change submit /etc/shadow")
shell("a file of the server as a batch", "submit --batch /etc/shadow")
shell("a file to write", "change pack -o /tmp/x main..topic")
shell("another base", "--base /nonexistent list")
shell("another server", "--server http://localhost:1 list")
shell("a setting", "set queue.concurrency 9")
shell("a local verb", "fsck --rebuild")
shell("a server", "serve")
shell("an internal command", "land --id x")
shell("the job of another", "cancel waits")
shell("a person with a strange name", "list", person="olga\nrole")
shell("an account that is not the shell account", "approve held",
      person="olga", account="alice")
shell("the account of the checks names a person", "approve held",
      person="olga", account="checks")
shell("a signature of the submitter", "approve --signature - held",
      data=b"nothing")


# ---- running them ------------------------------------------------------------

def attempt(gate, function, before):
    """Why the way succeeded; None if it did not."""
    try:
        function(gate)
        gate.idle()
        after = gate.facts()
        for name, value in before.items():
            must(after[name] == value, f"{name}: {value} became {after[name]}")
        for account, uid in gate.proofs():
            must(uid == ACCOUNTS[account],
                 f"a command of {account} ran as {uid}")
    except Wrong as why:
        return str(why)
    finally:
        gate.clear()
    return None


def accounts(top):
    """Adds the accounts, in the mount namespace of this process."""
    lines = [f"{name}:x:{uid}:{uid}::{top}/open:/bin/sh"
             for name, uid in ACCOUNTS.items()]
    file = top / "passwd"
    file.write_text(pathlib.Path("/etc/passwd").read_text()
                    + "\n".join(lines) + "\n")
    os.chmod(file, 0o644)
    subprocess.run(["mount", "--bind", file, "/etc/passwd"], check=True)


def main():
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "-m", "true"], capture_output=True).returncode != 0:
        print("1..0 # SKIP only root can make accounts in a mount namespace")
        return 0
    if "WAYS_APART" not in os.environ:
        os.environ["WAYS_APART"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private",
                              sys.executable, *sys.argv])
    if shutil.which("ssh-keygen") is None:
        print("1..0 # SKIP ssh-keygen is missing (package openssh-client)")
        return 0
    os.umask(0o022)
    top = pathlib.Path(tempfile.mkdtemp(prefix="pointsman-ways."))
    os.chmod(top, 0o711)
    accounts(top)
    shutil.copy(sys.argv[1], top / "pointsman")
    gate = Gate(top)
    only = os.environ.get("ONLY", "")
    ways = [way for way in WAYS if only in way[0]]
    failed = 0
    print(f"1..{len(ways)}", flush=True)
    try:
        gate.begin()
        before = gate.facts()
        for number, (sentence, function) in enumerate(ways, 1):
            why = attempt(gate, function, before)
            failed += why is not None
            name = sentence.replace("#", "")
            print(f"{'not ok' if why else 'ok'} {number} - {name}", flush=True)
            if why:
                print(f"# {why}"[:900], flush=True)
    except Wrong as why:
        print(f"not ok 1 - the gate: {why}")
        print((top / "serve.log").read_text())
        for ident in "plain", "held":
            print(gate.pm("why", ident).stdout.decode())
            print(gate.pm("history", ident).stdout.decode())
        failed += 1
    finally:
        gate.end()
        shutil.rmtree(top, ignore_errors=True)
    return 1 if failed else 0


sys.exit(main())
