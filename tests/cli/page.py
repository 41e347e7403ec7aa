"""The examples of a manual page, run: TAP on stdout.

    python3 page.py POINTSMAN PAGE

Each block between .EX and .EE is a piece of one story (transcript.py): a line
that begins with `$ ` is a command, those behind it are its output. Ages and
made-up ids may differ; a line `...` stands for any.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"^\$ ")
MADE_ID = re.compile(r"\bj[a-z2-7]{16}\b")
ROFF = [("\\-", "-"), ("\\&", ""), ("\\(aq", "'"), ("\\e", "\\")]
AGE = re.compile(r"\b\d+[smhd]\b +")


def story(page):
    lines, inside = [], False
    for line in page.read_text().splitlines():
        if line in (".EX", ".EE"):
            inside = line == ".EX"
        elif inside:
            for roff, plain in ROFF:
                line = line.replace(roff, plain)
            if COMMAND.match(line):
                lines.append(line)
                continue
            line = MADE_ID.sub("<id>", line)
            lines.append("| " + AGE.sub("...", line))
    return lines


def main():
    program, page = sys.argv[1:]
    lines = story(pathlib.Path(page))
    if not lines:
        raise SystemExit(f"{page}: there are no examples")
    with tempfile.TemporaryDirectory(prefix="page-") as place:
        path = pathlib.Path(place, pathlib.Path(page).stem + ".t")
        path.write_text("\n".join(lines) + "\n")
        play = pathlib.Path(__file__).with_name("transcript.py")
        raise SystemExit(subprocess.run(
            [sys.executable, str(play), program, str(path)]).returncode)


main()
