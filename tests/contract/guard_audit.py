"""Audits the guard: the functions it calls and what it opens; prints TAP.

    python3 tests/contract/guard_audit.py POINTSMAN OS_LIBRARY
"""
import os
import pathlib
import pwd
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import tap

PROGRAM, LIBRARY = map(os.path.abspath, sys.argv[1:3])
NET_S, LOOKS = 90, 20
SKIP = "SKIP "

# The objects that the guard consists of.
PARTS = ("guard_capture guard_server guard_frame guard_launch guard_launcher "
         "guard_lease guard_main guard_pace guard_task guard_watch cgroup owner process rights "
         "spawn stamp").split()
# Everything the guard may call in the C library and the modules below. Names
# are added only deliberately: no sockets, no name resolution, no loading of
# libraries, no shell.
MAY_CALL = set("""
    access chdir clone close epoll_create1 epoll_ctl epoll_wait eventfd fchmod
    fchown fcntl fcntl64 fdopen fdopendir fclose flock fstat fstat64 fstatat
    fstatat64 getegid geteuid getpgid getpid getppid getrlimit getrlimit64 kill
    mkdirat mlock mlockall mmap mmap64 munmap nanosleep open open64 openat
    openat64 opendir pipe2 poll ppoll prctl pread pread64 read readdir readdir64
    recvmsg sched_getaffinity send setpgid setrlimit setrlimit64 sigaction
    sigemptyset sigfillset sigprocmask syscall timerfd_create timerfd_settime
    umask unlinkat wait4 waitid waitpid write dup2 closedir faccessat execve
    fopen fopen64 getline sysconf __sched_cpucount
    pthread_attr_destroy pthread_attr_init pthread_attr_setstack
    pthread_cond_broadcast pthread_cond_init pthread_cond_wait pthread_create
    pthread_join pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock
    free memchr memcpy memmove memset memcmp mempcpy snprintf fprintf fputs
    fread fwrite sscanf __isoc99_sscanf fscanf __isoc99_fscanf strchr strrchr
    strcmp strcspn strncmp strstr strtol strtoul strtoull strcpy strcat strlen
    fstatvfs fstatvfs64 strerrordesc_np stderr environ vsnprintf readlink readlinkat
    __errno_location __assert_fail abort __ctype_b_loc __getdelim dirfd fgets
    __cmsg_nxthdr bcmp strpbrk
""".split())
OURS = re.compile(
    r"^(arena|capture|cgroup|clock|desk|err|guard|heap|launcher|list|mem|mono|owner|process"
    r"|rights|span|spawn|stamp|stamps|task|text|wall|watch|pace)_")
COMPILERS = re.compile(
    r"^(__asan|__ubsan|__sanitizer|__lsan|__gcov|llvm_gcov|__stack_chk|_GLOBAL_"
    r"|__start_|__stop_|asan_|__llvm|__odr_asan|__memcpy_chk|__.*_chk$)")
# Libraries of the executable, which all its processes load. A library that
# parses untrusted input or uses the network must not be among them.
MAY_LOAD = re.compile(
    r"^(ld-linux.*|libc|libm|libpthread|libdl|librt|libuv"
    r"|libsqlite3|libnettle|libcrypt|libz|libzstd|libgcc_s|libasan|libubsan"
    r"|libclang_rt.*|libresolv|libstdc\+\+)[.-]")
MAY_HOLD = re.compile(
    r"^(/dev/null|socket:\[\d+\]|pipe:\[\d+\]|anon_inode:\[?(eventpoll|eventfd"
    r"|timerfd|pidfd)\]?|pidfd:.*|/sys/fs/cgroup(/.*)?)$")


def undefined_names():
    """Returns the names that the guard's objects need, and those objects."""
    out = subprocess.run(["nm", "-A", LIBRARY], capture_output=True, text=True,
                         check=True).stdout
    needed, seen = set(), set()
    for line in out.splitlines():
        found = re.match(r".*[:/]([a-z_]+)\.c\.o:\s*[0-9a-f]*\s+(\w) (\S+)", line)
        if not found or found[1] not in PARTS:
            continue
        seen.add(found[1])
        if found[2] == "U":
            needed.add(found[3])
    return needed, seen


def guard_calls_only_allowed_functions():
    needed, seen = undefined_names()
    if seen != set(PARTS):
        return ["not found: " + " ".join(sorted(set(PARTS) - seen))]
    return [name for name in sorted(needed)
            if name not in MAY_CALL and not OURS.match(name)
            and not COMPILERS.match(name)]


def children(pid, thread=None):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{thread or pid}/children").read_text()
        return [int(word) for word in text.split()]
    except OSError:
        return []


def await_guard(run):
    """Returns the guard of `run` once its task has started."""
    if (select.select([run.stdout], [], [], NET_S)[0]
            and run.stdout.readline() == b"begun\n"):
        for pid in children(run.pid):
            comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if comm == "pointsman-guard":
                return pid
    raise RuntimeError("no guard was found")


def with_guard(look, *options):
    top = pathlib.Path(tempfile.mkdtemp())
    base = top / "base"
    env = {"PATH": os.environ["PATH"], "POINTSMAN_BASE": str(base),
           "HOME": str(top)}
    env.update({k: v for k, v in os.environ.items() if "SAN_OPTIONS" in k})
    subprocess.run([PROGRAM, "-q", "init"], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    run = subprocess.Popen(
        [PROGRAM, "run", *options, "--", "sh", "-c",
         "echo begun; exec sleep 600"],
        env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    try:
        return look(await_guard(run), base)
    finally:
        run.terminate()
        run.wait()
        run.stdout.close()
        shutil.rmtree(top, ignore_errors=True)


def guard_loads_no_heavy_library():
    def look(pid, _):
        names = set()
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            path = line.split(None, 5)[5:] or [""]
            if ".so" in path[0]:
                names.add(os.path.basename(path[0]))
        return [name for name in sorted(names) if not MAY_LOAD.match(name)]
    return with_guard(look)


def odd_descriptors(pid, base):
    odd = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        # The base, its outputs and the lock files of its jobs are allowed.
        if not MAY_HOLD.match(target) and not target.startswith(str(base)):
            odd.add(f"{fd} -> {target}")
    return odd


def guard_holds_only_allowed_descriptors():
    def look(pid, base):
        odd = odd_descriptors(pid, base)
        # Files of /proc that are open only for a moment do not count.
        for _ in range(LOOKS):
            if odd:
                time.sleep(0.01)
                odd &= odd_descriptors(pid, base)
        return sorted(odd)
    return with_guard(look)


SETUID, SETGID, KILL, SYS_PTRACE, SETPCAP = 1 << 7, 1 << 6, 1 << 5, 1 << 19, 1 << 8


def rights(path):
    """Returns the capability sets of a thread, by their names in its status."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.startswith("Cap"):
            found[key[3:]] = int(value, 16)
        elif key == "NoNewPrivs":
            found[key] = int(value)
    return found


def tasks(guard):
    return [child for thread in os.listdir(f"/proc/{guard}/task")
            for child in children(guard, thread)]


def guard_of_root_keeps_only_the_capabilities_it_needs():
    """The main thread holds no others and cannot regain any. The launchers may
    hold more, because they also start tasks of root, but do not use them."""
    if os.geteuid() != 0:
        return SKIP + "only root has capabilities to drop"
    ours = rights("/proc/self/status")
    three = (SETUID | SETGID | KILL) & ours["Eff"]

    def look(pid, _):
        odd = []
        main = rights(f"/proc/{pid}/status")
        # Without a cgroup, the guard reads the descriptors of other processes.
        most = three | (main["Eff"] & SYS_PTRACE)
        for key in "Prm", "Eff":
            if main[key] != most:
                odd.append(f"main {key} {main[key]:x}")
        if main["Bnd"] & ~most and ours["Eff"] & SETPCAP:
            odd.append(f"main Bnd {main['Bnd']:x}")
        if main["Inh"] or main["Amb"] or not main["NoNewPrivs"]:
            odd.append(f"main {main}")
        for thread in os.listdir(f"/proc/{pid}/task"):
            sets = rights(f"/proc/{pid}/task/{thread}/status")
            if sets["Eff"] & ~most or sets["Inh"] or sets["Amb"]:
                odd.append(f"thread {thread} {sets}")
        found = tasks(pid)
        for child in found:
            if rights(f"/proc/{child}/status")["Eff"] != ours["Eff"]:
                odd.append(f"task {child} does not have root's capabilities")
        return odd + ([] if found else ["no task was found"])
    return with_guard(look)


def task_of_another_user_has_no_capabilities():
    if os.geteuid() != 0:
        return SKIP + "only root can start tasks of another user"
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        return SKIP + "there is no user named nobody"

    def look(pid, _):
        found = [rights(f"/proc/{child}/status") for child in tasks(pid)]
        odd = [str(sets) for sets in found
               if sets["Prm"] or sets["Eff"] or sets["Inh"] or sets["Amb"]]
        return odd + ([] if found else ["no task was found"])
    return with_guard(look, "--user", "nobody")


tap.run([guard_calls_only_allowed_functions, guard_loads_no_heavy_library,
         guard_holds_only_allowed_descriptors,
         guard_of_root_keeps_only_the_capabilities_it_needs,
         task_of_another_user_has_no_capabilities])
