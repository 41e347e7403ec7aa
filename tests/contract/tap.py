"""Runs the tests of a contract program; TAP on stdout."""


def run(tests):
    """A test returns the problems that it found, or "SKIP reason"."""
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        found = test()
        if isinstance(found, str):
            print(f"ok {number} - {test.__name__} # {found}")
            continue
        problems = list(found)
        print("not " * bool(problems) + f"ok {number} - {test.__name__}")
        for problem in problems:
            print("#", problem)
