"""Runs the walk-through doc/gate-for-five.md; TAP on stdout.

    python3 gate.py POINTSMAN PAGE

Runs as root in mount, network and process namespaces of its own, with copies of
/etc and empty /srv, /run, /home and /usr/local/bin, so that the accounts are
real and sshd listens on port 22 without touching this machine.

A command of the page begins with a prompt: `root@gate# ` or `NAME$ `. The lines
after it, up to the next prompt or the end of the block, are its output, where
`...` stands for any text and a line `...` for any lines. A command whose output
has a line that begins with "pointsman: " must fail, any other must succeed.
"""
import ctypes
import fcntl
import os
import pathlib
import pwd
import re
import shutil
import socket
import struct
import subprocess
import sys

PROMPT = re.compile(r"^    (root@gate#|[a-z]+\$) (.*)$")
SSHD = "/usr/sbin/sshd"
PEOPLE = ["ann", "ben", "cleo", "dora", "omar"]
TIMEOUT_S = 240
PLAN = 0


def result(good, name, remarks=""):
    global PLAN
    PLAN += 1
    print(("" if good else "not ") + f"ok {PLAN} - {name.replace('#', '')}")
    for line in remarks.splitlines():
        print(f"# {line}")
    sys.stdout.flush()
    return good


class Step:
    def __init__(self, who, line):
        self.who, self.line, self.output = who, line, []

    def must_fail(self):
        return any(line.startswith("pointsman: ") for line in self.output)

    def pattern(self):
        parts = []
        for line in self.output:
            if line == "...":
                parts.append("(?:.*\n)*")
            else:
                pieces = [re.escape(piece) for piece in line.split("...")]
                parts.append(".*".join(pieces) + "\n")
        return "".join(parts)


def read_page(path):
    steps, step, end = [], None, None
    for line in path.read_text().splitlines():
        found = PROMPT.match(line)
        if end is not None:
            step.line += "\n" + line[4:]
            end = None if line[4:] == end else end
        elif found:
            step = Step(*found.groups())
            steps.append(step)
            here = re.search(r"<<'(\w+)'$", step.line)
            end = here[1] if here else None
        elif line.startswith("    ") and step is not None:
            step.output.append(line[4:])
        else:
            step = None
    return steps


# ---- the machine -------------------------------------------------------------

def mount(source, target, kind=None):
    libc = ctypes.CDLL(None, use_errno=True)
    flags = 0 if kind else 4096  # MS_BIND
    if libc.mount(source.encode(), target.encode(),
                  kind.encode() if kind else None, flags,
                  b"mode=755" if kind else None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s",
                              fcntl.ioctl(sock, 0x8913, request))[1]
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH14s", b"lo", flags | 1, b""))


def make_machine(program):
    top = "/tmp/pointsman-gate"
    os.makedirs(top, exist_ok=True)
    mount("tmpfs", top, "tmpfs")
    shutil.copytree("/etc", f"{top}/etc", symlinks=True,
                    ignore_dangling_symlinks=True)
    for directory in ("/srv", "/home", "/run", "/usr/local/bin"):
        os.makedirs(directory, exist_ok=True)
        mount("tmpfs", directory, "tmpfs")
    mount(f"{top}/etc", "/etc")
    shutil.copy(program, "/usr/local/bin/pointsman")
    os.makedirs("/run/sshd")
    os.makedirs("/srv/mail")
    with open("/etc/hosts", "w") as hosts:
        hosts.write("127.0.0.1 localhost gate\n")
    # Instead of systemd, which is not running here.
    script = pathlib.Path("/usr/local/bin/systemd-run")
    script.write_text('#!/bin/sh\nwhile case $1 in -*) ;; *) false ;; esac; do'
                      ' shift; done\n"$@" >/run/server.log 2>&1 </dev/null &\n'
                      'until pointsman list --base /srv/pm >/dev/null 2>&1 &&\n'
                      'test -S /srv/pm/ctrl/sock; do :; done\n')
    script.chmod(0o755)
    loopback_up()


def make_project():
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main",
                    "/srv/git/project.git"], check=True)
    work = pathlib.Path("/srv/work")
    subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
    (work / "release").mkdir()
    (work / "greeting").write_text("hello, wide world\n")
    (work / "release/notes").write_text("Version 1.\n")
    (work / "Makefile").write_text(
        "check:\n\t@grep -q world greeting || { echo 'the greeting must name "
        "the world'; exit 1; }\n")
    git = ["git", "-C", work, "-c", "user.name=Root",
           "-c", "user.email=root@example.org"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "The beginning"], check=True)
    subprocess.run([*git, "push", "-q", "/srv/git/project.git", "main"],
                   check=True)
    shutil.rmtree(work)


def make_laptops():
    """Each laptop is an account, whose name is nobody's name on the server."""
    for name in PEOPLE:
        account, home = f"laptop-{name}", f"/home/{name}"
        subprocess.run(["useradd", "--create-home", "--home-dir", home,
                        "--shell", "/bin/sh", account], check=True)
        pathlib.Path(home, ".gitconfig").write_text(
            f"[user]\nname = {name.capitalize()}\nemail = {name}@example.org\n")
        os.makedirs(f"{home}/.ssh", 0o700)
        subprocess.run(["chown", "-R", f"{account}:", home], check=True)


def start_sshd():
    subprocess.run(["ssh-keygen", "-A"], check=True, stdout=subprocess.DEVNULL)
    sshd = subprocess.Popen([SSHD, "-D", "-e", "-o", "UsePAM=no"],
                            stderr=subprocess.PIPE, text=True)
    for line in sshd.stderr:
        if "listening on" in line:
            break
    else:
        raise SystemExit("sshd did not start")
    log = open("/run/sshd.log", "w")
    subprocess.Popen(["cat"], stdin=sshd.stderr, stdout=log)
    known = "".join(f"gate {path.read_text()}"
                    for path in pathlib.Path("/etc/ssh").glob("ssh_host_*.pub"))
    pathlib.Path("/etc/ssh/ssh_known_hosts").write_text(known)


# ---- the steps ---------------------------------------------------------------

class Person:
    def __init__(self, who):
        self.is_root = who == "root@gate#"
        name = who.rstrip("$")
        self.account = pwd.getpwnam("root" if self.is_root
                                    else f"laptop-{name}")
        self.dir = "/srv/mail" if self.is_root else self.account.pw_dir

    def run(self, line):
        account = self.account
        here = pathlib.Path("/run/here")
        here.touch()
        here.chmod(0o666)
        become = ["setpriv", "--reuid", str(account.pw_uid), "--regid",
                  str(account.pw_gid), "--init-groups", "--"]
        done = subprocess.run(
            [*become, "sh", "-c",
             f"{line}\nstatus=$?\npwd >{here}\nexit $status\n"],
            cwd=self.dir, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
            env={"HOME": account.pw_dir, "USER": account.pw_name,
                 "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "LANG": "C.UTF-8"})
        self.dir = here.read_text().strip() or self.dir
        return done


def send_keys():
    for name in PEOPLE:
        key = pathlib.Path(f"/home/{name}/.ssh/id_ed25519.pub")
        if key.exists():
            shutil.copy(key, f"/srv/mail/{name}.pub")


def run_page(steps):
    people = {}
    for step in steps:
        person = people.setdefault(step.who, Person(step.who))
        try:
            done = person.run(step.line)
            said, failed = done.stdout, done.returncode != 0
        except subprocess.TimeoutExpired as late:
            said, failed = f"{late}\n{late.stdout}", not step.must_fail()
        good = (failed == step.must_fail() and
                re.fullmatch(step.pattern(), said) is not None)
        title = f"{step.who} {step.line.splitlines()[0]}"
        if not result(good, title, "" if good else f"it printed:\n{said}"):
            for log in ("/run/server.log", "/run/sshd.log"):
                if os.path.exists(log):
                    print("# " + pathlib.Path(log).read_text()[-800:]
                          .replace("\n", "\n# "))
            break
        # The page says "each of the five", and shows what Ann does.
        if "ssh-keygen" in step.line:
            for name in PEOPLE[1:]:
                Person(f"{name}$").run(step.line)
            send_keys()


def main():
    program, page = sys.argv[1:3]
    if "GATE_APART" not in os.environ:
        if os.getuid() != 0 or not os.path.exists(SSHD):
            print("1..0 # SKIP needs root and sshd (package openssh-server)")
            return
        os.environ["GATE_APART"] = "1"
        apart = ["unshare", "--mount", "--net", "--pid", "--fork",
                 "--kill-child", "--mount-proc"]
        if subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL
                          ).returncode != 0:
            print("1..0 # SKIP no namespaces can be made here")
            return
        os.execvp(apart[0], [*apart, sys.executable, __file__, program, page])
    steps = read_page(pathlib.Path(page))
    make_machine(program)
    make_project()
    make_laptops()
    start_sshd()
    run_page(steps)
    print(f"1..{len(steps)}")
    sys.stdout.flush()
    os._exit(0 if PLAN == len(steps) else 1)


main()
