"""Compares help, manual pages and completions with commands.def; TAP.

    python3 agree.py POINTSMAN COMMANDS.def PAGES SRC
"""
import pathlib
import re
import subprocess
import sys

PROGRAM, TABLE = sys.argv[1], open(sys.argv[2]).read()
COUNT = 0


def output(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                          check=True).stdout


def check(name, problems):
    global COUNT
    COUNT += 1
    print(("not " if problems else "") + f"ok {COUNT} - {name}")
    for problem in problems:
        print(f"# {problem}")


COMMANDS = {
    found[1]: (found[2], found[4]) for found in re.finditer(
        r'^COMMAND\((\w+), "([^"]+)", \w+, \w+, (\w+), ([\w |]+),', TABLE,
        re.M)}
ROLES = dict(re.findall(
    r'^COMMAND\((\w+), "[^"]+", \w+, \w+, (\w+),', TABLE, re.M))
ROLE_TEXT = {"NOBODY": "", "VIEWER": "",
             "OWN_JOB": "Required role: submitter; operator for jobs of others ",
             "APPROVER":
                 "Required role: submitter; jobs may not approve change sets ",
             "SETTER": "Required role: admin; jobs may not change settings "}
SUBMITS = re.findall(r"^JOB_OPTIONS\((\w+)\)", TABLE, re.M)
OPTIONS = [(key, option) for row, option in
           re.findall(r'^OPTION\((\w+), "([^"]+)"', TABLE, re.M)
           for key in (SUBMITS if row == "id" else [row])]
SHOWN = {key: name for key, (name, flags) in COMMANDS.items()
         if "HIDDEN" not in flags}

FAMILIES = re.findall(r'^FAMILY\("([^"]+)"', TABLE, re.M)

pages = {path.name for path in pathlib.Path(sys.argv[3]).glob("*.1")}
check("there is a manual page for each command and family, and no other",
      sorted(pages ^ {"pointsman.1"} ^
             {f"pointsman-{n.replace(' ', '-')}.1"
              for n in [*SHOWN.values(), *FAMILIES]}))
overview = output("help")
check("help lists every command",
      [n for n in SHOWN.values() if not re.search(rf"^  {n}\b", overview,
                                                  re.M)])
check("help does not list internal commands",
      [n for n, f in COMMANDS.values()
       if "HIDDEN" in f and re.search(rf"^  {n}\b", overview, re.M)])
for key, name in SHOWN.items():
    options = [o for k, o in OPTIONS if k in (key, "EVERY")]
    text = output("help", *name.split())
    page = output("help", "--man", *name.split()).replace("\\-", "-")
    check(f"help {name} lists its options and shows an example",
          [o for o in options if f"--{o}" not in text] +
          ([] if f"pointsman {name}" in text.split("\n\n", 1)[1]
           else ["no example"]))
    check(f"the manual page of {name} lists its options",
          [o for o in options if f"--{o}" not in page])
    role = ROLE_TEXT.get(ROLES[key],
                         f"Required role: {ROLES[key].lower()} ")
    check(f"help and the manual page of {name} show the required role",
          [where for where, shown in (("help", text), ("page", page))
           if role not in shown or
           (not role and "Required role" in shown)])
    if key == "HELP":
        continue
    check(f"{name} --help prints the same as help {name}",
          [] if output(*name.split(), "--help") == text else ["differs"])
for family in FAMILIES:
    page = output("help", "--man", family).replace("\\-", "-")
    check(f"pointsman-{family}(1) lists its commands and their options",
          [n for n in SHOWN.values() if n.startswith(f"{family} ") and
           f".SS pointsman {n}\n" not in page] +
          [o for k, o in OPTIONS if SHOWN.get(k, "").startswith(f"{family} ")
           and f"--{o}" not in page])
for shell in ("bash", "zsh", "fish"):
    script = output("help", "--completion", shell)
    check(f"{shell} completes every command",
          [n for n in SHOWN.values() if n.split()[-1] not in script])
    check(f"{shell} completes every option",
          [o for k, o in OPTIONS if k in SHOWN and
           (f"-l {o}" if shell == "fish" else f"--{o}") not in script])
for shell, words in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"])):
    try:
        done = subprocess.run(words, input=output("help", "--completion", shell),
                              text=True, capture_output=True)
        check(f"{shell} accepts its completion script",
              [] if done.returncode == 0 else [done.stderr])
    except FileNotFoundError:
        COUNT += 1
        print(f"ok {COUNT} - {shell} accepts its completion script "
              f"# SKIP {shell} is missing")
zsh = output("help", "--completion", "zsh")
PAIRS = [n.split() for n in SHOWN.values() if " " in n]
check("zsh completes the second word of two-word commands",
      [" ".join(p) for p in PAIRS
       if not re.search(rf"^ *{p[0]}\) seconds=\((?:\n +'.*')*\n +'{p[1]}:",
                        zsh, re.M) or f"'{' '.join(p)}:" in zsh])
# The sections and keys of the configuration.
page = output("help", "--man", "pointsman.conf").replace("\\-", "-")
sections = {path.stem[len("config_"):]: path.read_text()
            for path in pathlib.Path(sys.argv[4]).glob("*/config_*.def")}
keys = [(section, key) for section, text in sections.items()
        for key in re.findall(r'^CONFIG_KEY\("([^"]+)"', text, re.M)]
check("pointsman.conf(5) lists every section and its keys",
      ([] if len(keys) > 40 else [f"only {len(keys)} keys were found"]) +
      [f"{s} {k}" for s, k in keys
       if not re.search(r"(?ms)^\.SH \[" + s.lower() + r"\b(?:(?!^\.SH).)*?"
                        r"^\\fB" + re.escape(k) + r"\\fR = ", page)])
choices = re.findall(r'^CONFIG_KEY\(.*, "([\w+-]+(?:\|[\w+-]+)+)", "',
                     "".join(sections.values()), re.M)
check("pointsman.conf(5) lists the values of each key with a choice",
      ([] if len(choices) > 5 else [f"only {len(choices)} were found"]) +
      [c for c in choices if f"\n{c}: " not in page])
print(f"1..{COUNT}")
