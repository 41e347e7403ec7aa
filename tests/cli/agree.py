"""Help, manual pages and completions say what commands.def says; TAP.

    python3 agree.py POINTSMAN COMMANDS.def PAGES SRC
"""
import pathlib
import re
import subprocess
import sys

PROGRAM, TABLE = sys.argv[1], open(sys.argv[2]).read()
COUNT = 0


def said(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                          check=True).stdout


def judge(name, missing):
    global COUNT
    COUNT += 1
    print(("not " if missing else "") + f"ok {COUNT} - {name}")
    for one in missing:
        print(f"# {one}")


COMMANDS = {
    found[1]: (found[2], found[4]) for found in re.finditer(
        r'^COMMAND\((\w+), "([^"]+)", \w+, \w+, (\w+), ([\w |]+),', TABLE,
        re.M)}
ROLES = dict(re.findall(
    r'^COMMAND\((\w+), "[^"]+", \w+, \w+, (\w+),', TABLE, re.M))
ROLE_TEXT = {"NOBODY": "", "VIEWER": "",
             "OWN_JOB": "Required role: submitter; operator for jobs of others "}
SUBMITS = re.findall(r"^JOB_OPTIONS\((\w+)\)", TABLE, re.M)
OPTIONS = [(key, option) for row, option in
           re.findall(r'^OPTION\((\w+), "([^"]+)"', TABLE, re.M)
           for key in (SUBMITS if row == "id" else [row])]
SHOWN = {key: name for key, (name, flags) in COMMANDS.items()
         if "HIDDEN" not in flags}

FAMILIES = re.findall(r'^FAMILY\("([^"]+)"', TABLE, re.M)

pages = {path.name for path in pathlib.Path(sys.argv[3]).glob("*.1")}
judge("every command and every family has its manual page, and no other",
      sorted(pages ^ {"pointsman.1"} ^
             {f"pointsman-{n.replace(' ', '-')}.1"
              for n in [*SHOWN.values(), *FAMILIES]}))
overview = said("help")
judge("help lists every command",
      [n for n in SHOWN.values() if not re.search(rf"^  {n}\b", overview,
                                                  re.M)])
judge("help hides what is ours alone",
      [n for n, f in COMMANDS.values()
       if "HIDDEN" in f and re.search(rf"^  {n}\b", overview, re.M)])
for key, name in SHOWN.items():
    options = [o for k, o in OPTIONS if k in (key, "EVERY")]
    text = said("help", *name.split())
    page = said("help", "--man", *name.split()).replace("\\-", "-")
    judge(f"help {name} names its options and shows an example",
          [o for o in options if f"--{o}" not in text] +
          ([] if f"pointsman {name}" in text.split("\n\n", 1)[1]
           else ["no example"]))
    judge(f"the manual page of {name} names its options",
          [o for o in options if f"--{o}" not in page])
    role = ROLE_TEXT.get(ROLES[key],
                         f"Required role: {ROLES[key].lower()} ")
    judge(f"help and the manual page of {name} name the role it requires",
          [where for where, shown in (("help", text), ("page", page))
           if role not in shown or
           (not role and "Required role" in shown)])
    if key == "HELP":
        continue
    judge(f"{name} --help is its help",
          [] if said(*name.split(), "--help") == text else ["differs"])
for family in FAMILIES:
    page = said("help", "--man", family).replace("\\-", "-")
    judge(f"pointsman-{family}(1) names its commands and their options",
          [n for n in SHOWN.values() if n.startswith(f"{family} ") and
           f".SS pointsman {n}\n" not in page] +
          [o for k, o in OPTIONS if SHOWN.get(k, "").startswith(f"{family} ")
           and f"--{o}" not in page])
for shell in ("bash", "zsh", "fish"):
    script = said("help", "--completion", shell)
    judge(f"{shell} completes every command",
          [n for n in SHOWN.values() if n.split()[-1] not in script])
    judge(f"{shell} completes every option",
          [o for k, o in OPTIONS if k in SHOWN and
           (f"-l {o}" if shell == "fish" else f"--{o}") not in script])
for shell, words in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"])):
    try:
        done = subprocess.run(words, input=said("help", "--completion", shell),
                              text=True, capture_output=True)
        judge(f"{shell} can read its script",
              [] if done.returncode == 0 else [done.stderr])
    except FileNotFoundError:
        COUNT += 1
        print(f"ok {COUNT} - {shell} can read its script # SKIP no {shell}")
zsh = said("help", "--completion", "zsh")
PAIRS = [n.split() for n in SHOWN.values() if " " in n]
judge("zsh completes the second words of commands of two",
      [" ".join(p) for p in PAIRS
       if not re.search(rf"^ *{p[0]}\) seconds=\((?:\n +'.*')*\n +'{p[1]}:",
                        zsh, re.M) or f"'{' '.join(p)}:" in zsh])
# Of configuration the program itself knows every section and key.
page = said("help", "--man", "pointsman.conf").replace("\\-", "-")
sections = {path.stem[len("config_"):]: path.read_text()
            for path in pathlib.Path(sys.argv[4]).glob("*/config_*.def")}
keys = [(section, key) for section, text in sections.items()
        for key in re.findall(r'^CONFIG_KEY\("([^"]+)"', text, re.M)]
judge("pointsman.conf(5) names every section and its keys",
      ([] if len(keys) > 40 else [f"only {len(keys)} keys are known"]) +
      [f"{s} {k}" for s, k in keys
       if not re.search(r"(?ms)^\.SH \[" + s.lower() + r"\b(?:(?!^\.SH).)*?"
                        r"^\\fB" + re.escape(k) + r"\\fR = ", page)])
choices = re.findall(r'^CONFIG_KEY\(.*, "([\w+-]+(?:\|[\w+-]+)+)", "',
                     "".join(sections.values()), re.M)
judge("pointsman.conf(5) names the choices of a key",
      ([] if len(choices) > 5 else [f"only {len(choices)} are known"]) +
      [c for c in choices if f"\n{c}: " not in page])
print(f"1..{COUNT}")
