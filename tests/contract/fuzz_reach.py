"""Checks that a fuzz target calls every decoder of src/wire; prints TAP.

    python3 tests/contract/fuzz_reach.py SOURCE_ROOT WIRE_LIBRARY FUZZ_PROGRAM...

The link graph decides, not an #include: the object of a fuzz target refers to
the decoder, or to an object of src/wire that refers to it in turn.
"""
import pathlib
import re
import subprocess
import sys

import tap

ROOT = pathlib.Path(sys.argv[1])
LIBRARY, PROGRAMS = sys.argv[2], sys.argv[3:]

# Declarations start at the beginning of a line.
DECODER = re.compile(
    r"^\w[\w ]*[ *](\w+_(?:parse|decode|read|step|feed|split|packed|unpacked))\(",
    re.M)
OBJECT = re.compile(r".*[:/](\w+)\.c\.o:\s*[0-9a-f]*\s+(\w) (\S+)$")


def names_of(path):
    """Maps each object of a file to (names it defines, names it needs)."""
    out = subprocess.run(["nm", "-A", path], capture_output=True, text=True,
                         check=True).stdout
    objects = {}
    for line in out.splitlines():
        found = OBJECT.match(line)
        if found:
            defines, needs = objects.setdefault(found[1], (set(), set()))
            (needs if found[2] == "U" else defines).add(found[3])
    return objects


def targets():
    """Yields the name of each target and the names that its object needs."""
    for program in map(pathlib.Path, PROGRAMS):
        noun = program.name[len("fuzz-"):]
        path = program.with_name(program.name + ".p") / \
            f"fuzz_fuzz_{noun}.c.o"
        for _, needs in names_of(path).values():
            yield noun, needs


def reached(wire):
    """Returns the names that targets need, directly or through src/wire."""
    home = {name: stem for stem, (defines, _) in wire.items()
            for name in defines}
    names = set().union(*(needs for _, needs in targets()))
    todo = list(names)
    while todo:
        stem = home.get(todo.pop())
        if stem:
            new = wire[stem][1] - names
            names |= new
            todo += new
    return names


def a_fuzz_target_calls_every_decoder_of_wire():
    wire = names_of(LIBRARY)
    names = reached(wire)
    defined = set().union(*(defines for defines, _ in wire.values()))
    for path in sorted((ROOT / "src/wire").glob("*.h")):
        decoders = DECODER.findall(path.read_text())
        for decoder in decoders:
            if decoder not in defined:
                yield f"{path.name}: no object of {LIBRARY} has {decoder}()"
            elif decoder not in names:
                yield f"{path.name}: no fuzz target calls {decoder}()"


tap.run([a_fuzz_target_calls_every_decoder_of_wire])
