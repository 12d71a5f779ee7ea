"""Print the results of tests: TAP, and the totals as the last line.

A script calls ok(), skip() and comment() as it goes, from any thread. It ends
with the exit status that done() returns. The name of a test is a sentence that
is true if the test passes."""
import re
import threading

LINES_MAX = 200     # of a comment: the last ones
counts = {"passed": 0, "failed": 0, "skipped": 0}
_lock = threading.Lock()    # a test and its comment stay together


def comment(text):
    with _lock:
        _print_comment(text)


def ok(condition, name, detail="", todo=""):
    """Count a test, and return whether it passed.

    detail is printed if it failed. todo says why it may fail."""
    with _lock:
        counts["passed" if condition or todo else "failed"] += 1
        _print_result(condition, name + (f" # TODO {todo}" if todo else ""))
        if not condition:
            _print_comment(detail)
    return bool(condition)


def skip(name, reason):
    """Count a test that cannot be made here."""
    with _lock:
        counts["skipped"] += 1
        _print_result(True, f"{name} # SKIP {reason}")


def add(numbers):
    """Count the tests of somebody else, who has printed them."""
    with _lock:
        for what in counts:
            counts[what] += numbers[what]


def done():
    """Print the plan, and the totals; the exit status of the script."""
    print(f"1..{sum(counts.values())}\n{totals(counts)}", flush=True)
    return 1 if counts["failed"] else 0


def totals(numbers):
    """A line that read_totals understands."""
    text = f"{numbers['passed']} passed, {numbers['failed']} failed"
    if numbers["skipped"]:
        text += f", {numbers['skipped']} skipped"
    return text


def read_totals(line):
    """What a line of totals says; None if it is another line."""
    found = re.fullmatch(
        r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", line.strip())
    if not found:
        return None
    return dict(zip(counts, (int(number or 0) for number in found.groups())))


def _print_result(passed, name):
    result = "ok" if passed else "not ok"
    print(f"{result} {sum(counts.values())} - {name}", flush=True)


def _print_comment(text):
    lines = str(text).splitlines()[-LINES_MAX:]
    print("".join(f"# {line}\n" for line in lines), end="", flush=True)
