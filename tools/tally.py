"""tally.py NAME BUILD_DIR TALLIES: counts the results of `meson test`.

Each test program prints one TAP line for each of its tests; these lines are
counted, not the programs. Prints the counts of each suite, the reason of each
skipped test, the log of each program that failed, and the time of each suite
with its budget. Appends "PASSED FAILED SKIPPED" to TALLIES.
"""
import collections
import json
import pathlib
import re
import sys

POINT = re.compile(
    r"^(not )?ok\b *\d*[ -]*(.*?)(?: *# *(SKIP)\S* *(.*))?$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.\d", re.MULTILINE)
LOG_LINES = 200
SLOWEST = 3

# The test time in seconds, summed over the programs of a suite, that each half
# of ./check may take on a quiet machine with two cores. Six programs run at
# once, so that these sums and the build take ten minutes. A suite over its
# budget is marked but does not fail, because the machine may be busy. Raise a
# budget only deliberately, in the commit that needs it.
BUDGETS_S = {
    "gcc": {
        "unit": 80, "scenario": 600, "cli": 90, "contract": 50, "cron": 60,
        "fuzz": 10, "sim": 60, "toy": 60,
    },
    "clang, sanitizers": {
        "unit": 120, "scenario": 480, "cli": 120, "contract": 60, "cron": 40,
        "fuzz": 20, "sim": 40,
    },
}


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.programs = []  # seconds and name of each
        self.seconds = 0.0


def count_program(test, count, skips):
    """Adds the tests of one program; returns whether it failed."""
    failed_before = count.failed
    result = test["result"]
    name = test["name"].split(" / ")[-1]
    points = [POINT.match(line)
              for line in (test.get("stdout") or "").splitlines()]
    points = [point for point in points if point]
    # A script prints its plan last, because it does not know it earlier.
    is_tap = PLAN.search(test.get("stdout") or "")
    if is_tap and points:
        for negated, title, skip, reason in (p.groups() for p in points):
            if skip:
                count.skipped += 1
                skips.append(f"{name}: {title}: {reason or 'no reason given'}")
            elif negated:
                count.failed += 1
            else:
                count.passed += 1
    elif result == "SKIP":
        count.skipped += 1
        lines = (test.get("stdout") or "").strip().splitlines()
        skips.append(f"{name}: {lines[-1] if lines else 'no reason given'}")
    elif result in ("OK", "EXPECTEDFAIL"):
        count.passed += 1
    if result not in ("OK", "EXPECTEDFAIL", "SKIP"):
        # A crash or a time-out prints no "not ok".
        count.failed = max(count.failed, failed_before + 1)
    return count.failed > failed_before


def show_log(test):
    print(f"---- {test['name']}: {test['result']}, "
          f"exit status {test.get('returncode')}")
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").splitlines()
        if len(lines) > LOG_LINES:
            print(f"(the first {len(lines) - LOG_LINES} lines are omitted)")
        for line in lines[-LOG_LINES:]:
            print("    " + line)


def reports(build_dir, count):
    """Counts and prints the sanitizer reports of all processes, including those
    that no test waits for."""
    for path in sorted((build_dir / "reports").glob("*")):
        count.failed += 1
        print(f"---- sanitizer report {path.name}")
        text = path.read_text(errors="replace").splitlines()
        for line in text[:80]:
            print("    " + line)


def show_times(name, suites):
    """Prints the time of each suite. No test depends on it."""
    budgets = BUDGETS_S.get(name, {})
    total = sum(count.seconds for count in suites.values())
    print(f"{name}: {'suite':<10}{'seconds':>9}{'share':>7}{'budget':>8}")
    for suite, count in sorted(suites.items(), key=lambda item:
                               -item[1].seconds):
        if not count.programs:
            continue
        budget = budgets.get(suite)
        line = (f"{name}: {suite:<10}{count.seconds:>9.1f}"
                f"{100 * count.seconds / (total or 1):>5.0f} %"
                f"{'none' if budget is None else budget:>8}")
        if budget is not None and count.seconds > budget:
            slowest = ", ".join(f"{test} {seconds:.0f} s" for seconds, test in
                                sorted(count.programs, reverse=True)[:SLOWEST])
            line += f"  OVER BUDGET; slowest: {slowest}"
        print(line)
    print(f"{name}: {'all':<10}{total:>9.1f}{100:>5} %"
          f"{sum(budgets.values()):>8}")


def unreported(build_dir, reported):
    """Returns the configured tests without a result: meson was killed, or two
    tests have the same name."""
    listing = build_dir / "meson-info" / "intro-tests.json"
    if not listing.exists():
        return ["any test"]
    names = collections.Counter(
        f"{test['suite'][0]} / {test['name']}"
        for test in json.loads(listing.read_text()))
    return sorted((names - collections.Counter(reported)).elements())


def main():
    name, build_dir, tallies = sys.argv[1], pathlib.Path(sys.argv[2]), \
        sys.argv[3]
    suites, failures, skips, reported = {}, [], [], []
    log = build_dir / "meson-logs" / "testlog.json"
    for line in log.read_text().splitlines() if log.exists() else []:
        test = json.loads(line)
        reported.append(test["name"])
        # "pointsman:unit / json"
        suite = test["name"].split(" / ")[0].split(":")[-1]
        count = suites.setdefault(suite, Count())
        count.seconds += test.get("duration", 0)
        count.programs.append((test.get("duration", 0),
                               test["name"].split(" / ")[-1]))
        if count_program(test, count, skips):
            failures.append(test)
    for test in failures:
        show_log(test)
    found = Count()
    reports(build_dir, found)
    if found.failed:
        suites["sanitizer reports"] = found
    for missing in unreported(build_dir, reported):
        print(f"{name}: no result for {missing}")
        suites.setdefault("no result", Count()).failed += 1
    for reason in skips:
        print(f"{name}: skipped: {reason}")
    for suite, count in suites.items():
        print(f"{name}: {suite}: {count.passed} passed, "
              f"{count.failed} failed, {count.skipped} skipped")
    show_times(name, suites)
    with open(tallies, "a", encoding="ascii") as out:
        total = [sum(getattr(count, part) for count in suites.values())
                 for part in ("passed", "failed", "skipped")]
        print(*total, file=out)


main()
