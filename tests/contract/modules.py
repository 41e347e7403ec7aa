"""The modules of src/ and what each may use, read from the table of
ARCHITECTURE.md, for the checks of includes (house.py) and objects
(link_graph.py)."""
import pathlib
import re

ROW = re.compile(r"^\| `src/(\w+)/` \|[^|]*\| ([^|]*) \|$", re.M)


def read_table():
    """Returns the modules that each module uses directly; it may also use what
    those use."""
    found = {}
    page = pathlib.Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
    for module, uses in ROW.findall(page.read_text()):
        words = {"the C library": set(), "serve and below": {"serve"},
                 "all but cli": set(found)}
        found[module] = words.get(uses, set(re.split(r",\s*", uses)))
    return found


def below(module):
    """Returns the modules that `module` may use, directly or through others."""
    found = set()
    for name in USES[module]:
        found |= {name} | below(name)
    return found


USES = read_table()
MAY_USE = {module: below(module) for module in USES}


def module_of(directory, name):
    """Returns the module of the file NAME in src/DIRECTORY. The functions of
    commands, cmd_*.c, belong to cli in whichever directory they are."""
    return "cli" if name.startswith("cmd_") else directory
