"""Rules for the sources that a program can check; prints TAP.

    python3 tests/contract/house.py [ROOT]

Each function below is one test, and its name states the rule.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import tap
from modules import MAY_USE, USES, module_of

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

# The cron library is independent; these parts of lib are compiled into it.
CRON_HAS = {"lib/json_lexer.h", "lib/utf8.h"}

# Functions with outside effects. lib, core and wire only decide and translate.
WORLD = {
    "clock": "time gettimeofday clock_gettime clock_nanosleep nanosleep sleep "
             "usleep localtime localtime_r",
    "chance": "rand random srand srandom drand48 getrandom getentropy",
    "files": "open openat creat fopen fdopen freopen read pread write pwrite "
             "rename unlink mkdir rmdir stat fstat lstat opendir",
    "network": "socket connect bind listen accept accept4 send recv",
    "processes": "fork vfork execve execvp posix_spawn system popen kill "
                 "waitpid exit _exit",
    "terminal": "printf puts putchar vprintf",
    "surroundings": "getenv setenv secure_getenv isatty getpid",
}
MAY_TOUCH = {
    # The process ends here if it runs out of memory.
    "src/lib/mem.c": {"write", "_exit"},
    # The other modules log through this file; lib, core and wire do not.
    "src/lib/log.c": {"write", "fstat", "isatty", "getenv", "clock_gettime",
                       "localtime_r"},
    # libarchive reads the descriptor it was given, in the sandboxed checker.
    "src/wire/set_tar.c": {"read"},
}
# Only os/clock.c reads the clocks, except that the log stamps its lines. The
# cron library is independent and has its own clock.
CLOCKS = {"src/os/clock.c", "src/lib/log.c", "src/cron/clock.c",
          "src/cron/thread.c"}
# Words that are also names of roles: directories of a base, a section of the
# configuration, an overlap rule, a line of doctor.
NOT_ROLES = {
    "src/base/base.c": {'"prequeue"', '"queue"'},
    "src/api/api_settings.c": {'"queue"'},
    "src/wire/config_queue.c": {'"queue"'},
    "src/wire/schedule_spec.c": {'"queue"'},
    "src/cli/cmd_doctor.c": {'"clock"', '"nodes"'},
    "src/nodes/bistro_import.c": {'"nodes"'},
    "src/nodes/cmd_nodes.c": {'"nodes"'},
    "src/nodes/node_config.c": {'"nodes"'},
    "src/nodes/node_request.c": {'"nodes"'},
    "src/nodes/resource_config.c": {'"nodes"'},
}
VAGUE_NAMES = re.compile(r"util|helper|common|misc", re.IGNORECASE)
LINES_MOST = 800
COMMENT_OR_TEXT = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def files(*patterns):
    found = []
    for pattern in patterns:
        found += ROOT.glob(pattern)
    return sorted(path for path in found if path.is_file())


def short(path):
    return str(path.relative_to(ROOT))


def sources(module="*"):
    return files(f"src/{module}/**/*.[ch]")


def includes_go_only_downwards():
    for path in sources():
        module = module_of(path.relative_to(ROOT / "src").parts[0], path.name)
        for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"',
                                 path.read_text(), re.M):
            if target.endswith(".def") and not (ROOT / "src" / target).exists():
                yield f"{short(path)}: '{target}' is not named module/file"
                continue
            other = target.split("/")[0]
            if other not in MAY_USE:
                yield f"{short(path)}: '{target}' is in no module"
            elif module == "cron" and target in CRON_HAS:
                continue
            elif other != module and other not in MAY_USE.get(module, set()):
                yield f"{short(path)}: {module} may not use '{target}'"


def architecture_agrees_with_the_modules():
    """ARCHITECTURE.md has a row for each module, in order of use."""
    present = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    built = re.findall(r"^subdir\('src/(\w+)'\)",
                       (ROOT / "meson.build").read_text(), re.M)
    for module in sorted(present ^ set(USES)):
        yield f"'{module}' is not both in src/ and in ARCHITECTURE.md"
    if list(USES) != built:
        yield "ARCHITECTURE.md and meson.build list the modules differently"
    for module in USES:
        for name in sorted(USES[module] - set(USES)):
            yield f"{module} uses '{name}', which is no module"


def lib_core_and_wire_do_not_touch_the_world():
    kind_of = {name: kind for kind, names in WORLD.items()
               for name in names.split()}
    # After '.', '->' or a type, a name is a member or a declaration.
    call = re.compile(r"(?<![.>\w])(\w+)\s*\(")
    for module in ("lib", "core", "wire"):
        for path in sources(module):
            code = COMMENT_OR_TEXT.sub(" ", path.read_text())
            code = re.sub(r"\bstruct\s+\w+", " ", code)
            for name in sorted(set(call.findall(code)) & set(kind_of)):
                if name not in MAY_TOUCH.get(short(path), set()):
                    yield f"{short(path)}: {name}() ({kind_of[name]})"


def only_one_file_reads_the_clock():
    read = re.compile(r"(?<![.>\w])(time|clock_gettime|gettimeofday)\s*\(")
    for path in sources():
        code = COMMENT_OR_TEXT.sub(" ", path.read_text())
        if read.search(code) and short(path) not in CLOCKS:
            yield f"{short(path)}: use os/clock.h"


def only_their_rows_distinguish_kinds_of_work():
    life = (ROOT / "src/core/life.def").read_text()
    kinds = re.findall(r"^JOB_KIND\((\w+)", life, re.M)
    classes = re.findall(r"^JOB_CLASS\((\w+),.*JOB_ROLLS_BACK", life, re.M)
    if not kinds or not classes:
        yield "src/core/life.def: no kinds, or no class that rolls back"
    spelled = re.compile(r"\b(?:%s)\b" % "|".join(
        [f"JOB_{name}" for name in kinds] +
        [f"CLASS_{name}" for name in classes]))
    # Other files must not spell out the words of life.def.
    word = re.compile(r'"(?:%s)"' % "|".join(
        re.findall(r"^JOB_CLASS\(\w+, *\"(\w+)\"", life, re.M)))
    # The row of a kind has its constant in its header; other modules ask for a
    # trait or for the row.
    row = re.compile(r"^const struct work_kind \w+ = \{", re.M)
    rows = {path.with_suffix(".h") for path in sources()
            if row.search(path.read_text())}
    for path in sources():
        text = path.read_text()
        code = COMMENT_OR_TEXT.sub(" ", text)
        if path not in rows:
            for name in sorted(set(spelled.findall(code))):
                yield f"{short(path)}: {name}"
        code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for name in sorted(set(word.findall(code))):
            yield f"{short(path)}: {name} may be spelled only in life.def"


def no_file_has_a_vague_name():
    for path in files("src/**/*", "tests/**/*", "tools/**/*"):
        if VAGUE_NAMES.search(path.stem) and "corpus" not in path.parts:
            yield short(path)


def no_file_is_too_long():
    for path in sources():
        count = path.read_text().count("\n")
        if count > LINES_MOST:
            yield f"{short(path)}: {count} lines"


def every_file_is_built_once():
    for module in sorted((ROOT / "src").iterdir()):
        listing = (module / "meson.build").read_text()
        listed = re.findall(r"'([\w/]+\.c)'", listing)
        present = [str(path.relative_to(module))
                   for path in module.rglob("*.c")]
        for name in sorted(set(present) - set(listed)):
            yield f"src/{module.name}/{name} is not in its meson.build"
        for name in sorted({name for name in listed if listed.count(name) > 1}):
            yield f"src/{module.name}/meson.build lists '{name}' twice"
    listed, lists, listings = set(), [], ""
    for listing in files("tests/**/meson.build"):
        listings += listing.read_text()
        for name, body in re.findall(r"(\w+) \+?= \[(.*?)\]",
                                     listing.read_text(), re.S):
            lists.append((f"{short(listing)}: {name}",
                          re.findall(r"'([\w/-]+)'", body)))
    for where, names in lists:
        listed.update(names)
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{where} lists '{name}' twice"
    for path in files("tests/**/test_*.c", "tests/fuzz/fuzz_*.c"):
        noun = path.stem.split("_", 1)[1]
        if noun not in listed and f"/{path.name}'" not in listings and \
                not any(noun.endswith("_" + name) for name in listed):
            yield f"{short(path)} is in no list of tests"


def every_fuzz_target_has_a_corpus():
    for path in files("tests/fuzz/fuzz_*.c"):
        corpus = ROOT / "tests/fuzz/corpus" / path.stem[len("fuzz_"):]
        if not corpus.is_dir() or not any(corpus.iterdir()):
            yield f"{short(path)}: no inputs in {short(corpus)}"


def paths_named_in_documents_exist():
    named = re.compile(r"`((?:src|tests|tools|doc|dist|\.ci)/[\w./*-]*)`")
    for path in files("*.md", "doc/*.md", "doc/design/*.md"):
        for name in named.findall(path.read_text()):
            if not list(ROOT.glob(name.rstrip("/").replace("NAME", "*"))):
                yield f"{short(path)} names '{name}'"


def design_invariants_that_are_cited_exist():
    """Citations are `(doc/design/landing.md, L5)`, or for short `(L5)` or `L5:`
    at the beginning of a comment. Each page has its own letter."""
    page_of, letter_of = {}, {}
    for path in files("doc/design/*.md"):
        for mark in re.findall(r"^\*\*([A-Z]\d+)\.\*\*", path.read_text(), re.M):
            if mark in page_of:
                yield f"{mark} is defined in {page_of[mark]} and {path.name}"
            page_of[mark] = path.name
            letter_of[mark[0]] = path.name
    cited = re.compile(r"doc/design/([a-z-]+\.md)((?:,? (?:to )?[A-Z]\d+)*)")
    short_form = re.compile(r"[(]([A-Z]\d{1,2})(?: in doc/design/)?[)]"
                            r"|/\* ([A-Z]\d{1,2})[:. ]")
    for path in files("src/**/*.[chd]*", "tests/**/*.[ch]", "doc/design/*.md"):
        text = path.read_text(errors="replace")
        for page, marks in cited.findall(text):
            if not (ROOT / "doc/design" / page).is_file():
                yield f"{short(path)} cites {page}"
            for mark in re.findall(r"[A-Z]\d+", marks):
                if page_of.get(mark) != page:
                    yield f"{short(path)} cites {page}, {mark}"
        for match in short_form.findall(text):
            mark = match[0] or match[1]
            if mark[0] in letter_of and mark not in page_of:
                yield f"{short(path)} cites {mark}"


def sources_cite_only_public_documents():
    """Only pages of doc/ and public standards may be cited, by name."""
    private = re.compile(r"\bDESIGN\b|§|\bspec/|\bseed 00|\bissue \d")
    for path in files("src/**/*.[ch]", "src/**/*.def", "include/**/*.h",
                      "tests/**/*.[ch]", "tests/**/*.sh"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if private.search(line):
                yield f"{short(path)}:{number}: {line.strip()}"


def role_names_are_spelled_only_in_their_rows():
    """A row is `const struct role NAME_role = {.name = "NAME", ...}`."""
    row = re.compile(r'const struct role (\w+) = \{\s*\.name = ("\w+"),')
    table = (ROOT / "src/serve/tables.c").read_text()
    rows = {}
    for path in sources():
        for name, word in row.findall(path.read_text()):
            if word in rows:
                yield f"{short(path)}: {word} is the name of two rows"
            if not re.search(rf"&{name}\b", table):
                yield f"src/serve/tables.c does not list {name}"
            rows[word] = short(path)
    if not rows:
        yield "no row of a role was found"
    words = "|".join(word.strip('"') for word in rows)
    spelled = re.compile(rf'"(?:daemon:)?(?:{words})(?:\.pid|_fifo)?"')
    for path in sources():
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        may = NOT_ROLES.get(short(path), set())
        for word in spelled.findall(row.sub("", code)):
            if word not in may:
                yield f"{short(path)}: {word}: use the name in its row"


def origins_name_tests_that_exist():
    """The last cell of each row in doc/origins.md names tests as FILE or
    FILE:WORDS below tests/."""
    for line in (ROOT / "doc/origins.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[-1] in ("shown by", "---"):
            continue
        named = re.findall(r"`([^`]+)`", cells[-1])
        if not named:
            yield f"'{cells[0]}' names no test"
        for name in named:
            path, _, words = name.partition(":")
            path = ROOT / "tests" / path
            if not path.is_file() or words not in path.read_text():
                yield f"'{cells[0]}': no test '{name}'"


def scripts_are_posix():
    shell = shutil.which("dash") or "sh"
    for path in files("*", ".ci/*", "tools/**/*", "tests/**/*", "dist/**/*"):
        with open(path, "rb") as file:
            if not file.readline().startswith(b"#!/bin/sh"):
                continue
        run = subprocess.run([shell, "-n", path], capture_output=True,
                             text=True, check=False)
        if run.returncode != 0:
            yield f"{short(path)}: {run.stderr.strip()}"
        if not path.stat().st_mode & 0o100:
            yield f"{short(path)} is not executable"


def the_readme_shows_two_commands_on_its_first_screen():
    for name in ("try", "check", ".ci/run"):
        path = ROOT / name
        if not path.exists() or not path.stat().st_mode & 0o100:
            yield f"./{name} cannot be run"
    screen = (ROOT / "README.md").read_text().splitlines()[:24]
    for command in ("./try", "./check"):
        if not any(command in line for line in screen):
            yield f"README.md does not show {command} on its first screen"


tap.run([
    includes_go_only_downwards,
    architecture_agrees_with_the_modules,
    lib_core_and_wire_do_not_touch_the_world,
    only_one_file_reads_the_clock,
    only_their_rows_distinguish_kinds_of_work,
    no_file_has_a_vague_name,
    no_file_is_too_long,
    every_file_is_built_once,
    every_fuzz_target_has_a_corpus,
    paths_named_in_documents_exist,
    design_invariants_that_are_cited_exist,
    sources_cite_only_public_documents,
    role_names_are_spelled_only_in_their_rows,
    origins_name_tests_that_exist,
    scripts_are_posix,
    the_readme_shows_two_commands_on_its_first_screen,
])
