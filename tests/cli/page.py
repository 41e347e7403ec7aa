"""Runs the examples of a manual page; TAP on stdout.

    python3 page.py POINTSMAN PAGE

The blocks between .EX and .EE form one transcript (transcript.py): a line that
begins with `$ ` is a command, and the lines after it are its output. Ages and
generated ids may differ; a line `...` stands for any lines.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"^\$ ")
GENERATED_ID = re.compile(r"\bj[a-z2-7]{16}\b")
ROFF = [("\\-", "-"), ("\\&", ""), ("\\(aq", "'"), ("\\e", "\\")]
AGE = re.compile(r"\b\d+[smhd]\b +")


def transcript(page):
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
            line = GENERATED_ID.sub("<id>", line)
            lines.append("| " + AGE.sub("...", line))
    return lines


def main():
    program, page = sys.argv[1:]
    lines = transcript(pathlib.Path(page))
    if not lines:
        raise SystemExit(f"{page}: no examples found")
    with tempfile.TemporaryDirectory(prefix="page-") as directory:
        path = pathlib.Path(directory, pathlib.Path(page).stem + ".t")
        path.write_text("\n".join(lines) + "\n")
        runner = pathlib.Path(__file__).with_name("transcript.py")
        raise SystemExit(subprocess.run(
            [sys.executable, str(runner), program, str(path)]).returncode)


main()
