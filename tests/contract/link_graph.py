"""Rules for the sources that only the objects show; prints TAP.

    python3 tests/contract/link_graph.py ROOT BUILD

Reads with nm(1) what each object of the product defines and needs. Includes
can be checked without a build (house.py), but an include is not a use.
"""
import collections
import pathlib
import re
import subprocess
import sys

import tap
from modules import MAY_USE

ROOT, BUILD = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
CYCLE_MOST = 5       # files of a module that depend on each other
SHARE_MOST = 20      # percent of src/ in one module
# The guard enforces leases for workers on other machines, but nothing in this
# program extends one yet; the lease in the registry is its counterpart. Only
# such a worker reports on a task that was taken for lost.
UNUSED_KEPT = {"guard_lease", "store_lease", "node_pass_reported"}
# Headers of simulations: what they declare is for tests.
SIMULATED = ["src/store/simulated.h"]


def objects():
    """Returns the object files of the product by module/stem."""
    found = {}
    for path in BUILD.glob("src/*/*.p/*.o"):
        if path.name.startswith(".._lib_"):
            continue  # part of lib, compiled again for the cron library
        # A cmd_*.c of another directory is compiled for cli.
        stem = re.sub(r"^meson-generated_\.\._|^\.\._[a-z]+_(?=cmd_)|\.c\.o$",
                      "", path.name)
        found[f"{path.relative_to(BUILD).parts[1]}/{stem}"] = path
    return found


def read_symbols():
    """Returns which object defines each symbol, which symbols are functions,
    and which symbols each object needs."""
    names = {str(path): name for name, path in objects().items()}
    defined, functions = {}, set()
    needed = collections.defaultdict(set)
    run = subprocess.run(["nm", "-A", *names], capture_output=True, text=True,
                         check=True)
    for line in run.stdout.splitlines():
        name = names[line.split(":")[0]]
        kind, symbol = line.split()[-2:]
        if kind == "U":
            needed[name].add(symbol)
        elif kind in "TDBRCV":
            defined.setdefault(symbol, name)
            if kind == "T":
                functions.add(symbol)
    return defined, functions, needed


def read_graph():
    """Returns the edges between objects, with the symbols they consist of."""
    edges = collections.defaultdict(set)
    for name, symbols in NEEDED.items():
        for symbol in symbols:
            owner = DEFINED.get(symbol, name)
            if owner != name:
                edges[name, owner].add(symbol)
    return edges


DEFINED, FUNCTIONS, NEEDED = read_symbols()
EDGES = read_graph()


def module_of(name):
    return name.split("/")[0]


def compiled_into_cron():
    """Returns the objects of lib that the cron library has copies of."""
    return {"lib/" + path.name[len(".._lib_"):-len(".c.o")]
            for path in BUILD.glob("src/cron/*.p/.._lib_*.o")}


def objects_use_only_modules_below_theirs():
    if not EDGES:
        yield f"no objects below {BUILD}"
    for (name, owner), symbols in sorted(EDGES.items()):
        module, other = module_of(name), module_of(owner)
        if module == "cron" and owner in compiled_into_cron():
            continue
        if module != other and other not in MAY_USE.get(module, set()):
            yield f"{name} uses {', '.join(sorted(symbols))} of {owner}"


def cycles(nodes, following):
    """Returns the strongly connected sets of several nodes (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in following[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            members = []
            while not members or members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return found


def no_cycle_joins_more_than_five_files():
    inside = collections.defaultdict(set)
    for name, owner in EDGES:
        if module_of(name) == module_of(owner):
            inside[name].add(owner)
    for members in cycles(list(inside), inside):
        if len(members) > CYCLE_MOST:
            yield (f"{module_of(members[0])}: {len(members)} files need each "
                   "other: "
                   + " ".join(member.split("/")[1] for member in members))


def no_module_holds_more_than_a_fifth_of_the_sources():
    lines = collections.Counter()
    for path in (ROOT / "src").rglob("*"):
        if path.suffix in (".c", ".h", ".def", ".sql"):
            module = path.relative_to(ROOT / "src").parts[0]
            lines[module] += path.read_text().count("\n")
    for module, count in lines.items():
        share = 100 * count / sum(lines.values())
        if share > SHARE_MOST:
            yield f"{module} holds {share:.1f} percent of src/"


def public_functions():
    """Returns the functions that tests and other programs may call."""
    text = "".join(path.read_text()
                   for path in [*(ROOT / "include").rglob("*.h"),
                                *(ROOT / name for name in SIMULATED)])
    return set(re.findall(r"\b(\w+)\s*\(", text))


def every_exported_symbol_is_used_by_another_file():
    """Uses in tests do not count."""
    used = set().union(*EDGES.values())
    kept = public_functions() | UNUSED_KEPT | {"main"}
    for symbol, name in sorted(DEFINED.items(), key=lambda item: item[1]):
        if symbol not in used | kept:
            yield f"{name} exports {symbol}, which no other file uses"


def words_of(name):
    """Returns the words of a name in the singular, so that jobs_list belongs to
    the noun job."""
    return [re.sub(r"(?<=ss)es$|(?<=[^s])s$", "", word)
            for word in name.split("_")]


def every_function_name_begins_with_the_noun_of_its_file():
    """The noun is the file's name or its first words. The name of the module
    may be omitted (scheduler_target.c: target_), or be the noun if the
    functions of a module share it (store_, cron_, api_; cmd_ in cli)."""
    shared = {"store": "store_", "cron": "cron_", "api": "api_",
              "cli": "cmd_"}
    for symbol in sorted(FUNCTIONS - {"main"}):
        module, stem = DEFINED[symbol].split("/")
        if symbol.startswith(shared.get(module, symbol + "_")):
            continue
        words = words_of(symbol)
        if not any(words[0] == words_of(noun)[0]
                   for noun in (stem, stem.removeprefix(module + "_"))):
            yield f"{module}/{stem} exports {symbol}"


tap.run([
    objects_use_only_modules_below_theirs,
    no_cycle_joins_more_than_five_files,
    no_module_holds_more_than_a_fifth_of_the_sources,
    every_exported_symbol_is_used_by_another_file,
    every_function_name_begins_with_the_noun_of_its_file,
])
