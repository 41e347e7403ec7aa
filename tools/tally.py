"""tally.py NAME BUILD_DIR TALLIES: what `meson test` wrote, counted in points.

A test program of ours prints one TAP line per test inside it; those are
counted, not programs. Prints a line a suite, the reason of each skip and the
log of each program that failed; appends "PASSED FAILED SKIPPED" to TALLIES.
"""
import collections
import json
import pathlib
import re
import sys

POINT = re.compile(
    r"^(not )?ok\b *\d*[ -]*(.*?)(?: *# *(SKIP)\S* *(.*))?$", re.IGNORECASE)
LOG_LINES = 200


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0


def count_program(test, count, skips):
    """Adds the points of one program; returns whether it failed."""
    failed_before = count.failed
    result = test["result"]
    name = test["name"].split(" / ")[-1]
    points = [POINT.match(line)
              for line in (test.get("stdout") or "").splitlines()]
    points = [point for point in points if point]
    is_tap = (test.get("stdout") or "").lstrip().startswith(("1..", "TAP"))
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
        # A crash or a time-out has no "not ok" of its own.
        count.failed = max(count.failed, failed_before + 1)
    return count.failed > failed_before


def show_log(test):
    print(f"---- {test['name']}: {test['result']}, "
          f"exit status {test.get('returncode')}")
    for stream in ("stdout", "stderr"):
        lines = (test.get(stream) or "").splitlines()
        if len(lines) > LOG_LINES:
            print(f"({len(lines) - LOG_LINES} lines before these)")
        for line in lines[-LOG_LINES:]:
            print("    " + line)


def reports(build_dir, count):
    """What a sanitizer found in any process, also one that nobody waits for."""
    for path in sorted((build_dir / "reports").glob("*")):
        count.failed += 1
        print(f"---- sanitizer report {path.name}")
        text = path.read_text(errors="replace").splitlines()
        for line in text[:80]:
            print("    " + line)


def unheard(build_dir, heard):
    """Tests that are set up but of which meson wrote nothing: it died, or two
    have one name."""
    listing = build_dir / "meson-info" / "intro-tests.json"
    if not listing.exists():
        return ["any test"]
    names = collections.Counter(
        f"{test['suite'][0]} / {test['name']}"
        for test in json.loads(listing.read_text()))
    return sorted((names - collections.Counter(heard)).elements())


def main():
    name, build_dir, tallies = sys.argv[1], pathlib.Path(sys.argv[2]), \
        sys.argv[3]
    suites, failures, skips, heard = {}, [], [], []
    log = build_dir / "meson-logs" / "testlog.json"
    for line in log.read_text().splitlines() if log.exists() else []:
        test = json.loads(line)
        heard.append(test["name"])
        # "pointsman:unit / json"
        suite = test["name"].split(" / ")[0].split(":")[-1]
        count = suites.setdefault(suite, Count())
        if count_program(test, count, skips):
            failures.append(test)
    for test in failures:
        show_log(test)
    found = Count()
    reports(build_dir, found)
    if found.failed:
        suites["sanitizer reports"] = found
    for missing in unheard(build_dir, heard):
        print(f"{name}: no result of {missing}")
        suites.setdefault("no result", Count()).failed += 1
    for reason in skips:
        print(f"{name}: skipped: {reason}")
    for suite, count in suites.items():
        print(f"{name}: {suite}: {count.passed} passed, "
              f"{count.failed} failed, {count.skipped} skipped")
    with open(tallies, "a", encoding="ascii") as out:
        total = [sum(getattr(count, part) for count in suites.values())
                 for part in ("passed", "failed", "skipped")]
        print(*total, file=out)


main()
