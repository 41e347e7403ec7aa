"""The modules of src/ and what each may use: the table of ARCHITECTURE.md as
data, used to check includes (house.py) and objects (link_graph.py)."""

# The modules that a module uses directly; it may also use what those use.
USES = {
    "lib": set(),
    "cron": set(),
    "core": {"cron", "lib"},
    "wire": {"core", "lib"},
    "store": {"core", "lib"},
    "os": {"lib"},
    "base": {"store", "os", "wire", "lib"},
    "landing": {"os", "wire", "lib"},
    "scheduler": {"store", "core", "wire", "lib"},
    "api": {"scheduler", "base"},
    "commands": {"scheduler", "base", "api"},
    "schedules": {"scheduler", "base", "api", "commands"},
    "changes": {"base", "landing", "api"},
    "worker": {"base", "scheduler"},
    "maintenance": {"base", "changes", "landing", "scheduler"},
    "http": {"api"},
    "serve": {"http", "maintenance", "worker", "changes", "schedules",
              "commands"},
    "cli": {"serve"},
}


def below(module):
    """Returns the modules that `module` may use, directly or through others."""
    found = set()
    for name in USES[module]:
        found |= {name} | below(name)
    return found


MAY_USE = {module: below(module) for module in USES}
