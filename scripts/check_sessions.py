#!/usr/bin/env python3
"""What several sessions at a time see: test/sessions, whose README.md tells more.

  scenarios  each of test/sessions/scenarios, by postgres_fdw alone and by exchange, with each transport
             and each compression: the same rows, errors, messages and waits
  forged     a server that breaks PostgreSQL's protocol at every phase of a scan
  cancel     a cancel at every round trip of a scan

    scripts/check_sessions.py [-v] [part or scenario ...]    default: all; -v shows what a scenario printed

Prints TAP."""
import argparse
import difflib
import fnmatch
import glob
import os
import queue
import sys
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SESSIONS = os.path.join(ROOT, "test", "sessions")
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "test", "peers"), SESSIONS]
import differences  # noqa: E402
import harness  # noqa: E402
import nodes  # noqa: E402
import report  # noqa: E402
import runner  # noqa: E402
import scenario as scenarios  # noqa: E402
from wire_client import Lost  # noqa: E402

SIDE_BY_SIDE = 12     # scenarios at a time: they mostly wait
PARTS = ("scenarios", "forged", "cancel")
OFF = {"pg_exchange.enabled": "off"}


class Disturbed(Exception):
    """A server crashed, maybe by the doing of another scenario."""


def variants(has_transport):
    """The ways of travelling: all compressions by transport auto, and all transports with one compression."""
    found = {}
    for transport in ("auto", "stream", "session") if has_transport else ("auto",):
        for compression in ("none", "fast", "high_compression", "auto") if transport == "auto" else ("fast",):
            settings = {"pg_exchange.enabled": "on", "pg_exchange.compression": compression}
            if has_transport:
                settings["pg_exchange.transport"] = transport
            found[f"{transport}/{compression}"] = settings
    return found


class Scenarios:
    """Runs scenarios, several at a time, and compares what they print."""

    def __init__(self, work, options, wanted):
        self.options = options
        self.entries = differences.read(os.path.join(SESSIONS, "differences"))
        self.all = [scenarios.Scenario(path) for path in sorted(glob.glob(os.path.join(SESSIONS, "scenarios", "*")))]
        self.chosen = [s for s in self.all if not wanted or any(fnmatch.fnmatch(s.name, pattern) for pattern in wanted)]
        self.nodes = nodes.Nodes(work)
        self.variants = variants(self.nodes.has_transport())
        self.numbers = iter(range(1, 1000))
        for what in ("pooler", "standby"):
            asking = [s for s in self.chosen if f"needs {what}" in s.options]
            if asking and not self.nodes.add(what):
                for chosen in asking:
                    self.chosen.remove(chosen)
                    report.skip(f"{chosen.name} is as with postgres_fdw", f"{what} is not installed")

    def run(self):
        side_by_side = [s for s in self.chosen if "alone" not in s.options]
        todo = queue.SimpleQueue()
        for chosen in sorted(side_by_side, key=lambda s: "slow" not in s.options):
            todo.put(chosen)
        again, self.serial = [], False

        def work():
            place = nodes.Place(self.nodes, next(self.numbers))
            while True:
                try:
                    chosen = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    self.compare(place, chosen)
                except (Disturbed, Lost, OSError) as disturbed:
                    report.comment(f"{chosen.name} was disturbed, and comes again: {disturbed}")
                    again.append(chosen)
                    place = nodes.Place(self.nodes, next(self.numbers))
        threads = [threading.Thread(target=work) for _ in range(min(SIDE_BY_SIDE, len(side_by_side)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.serial = True   # from here on, a crash is the scenario's own
        place = nodes.Place(self.nodes, next(self.numbers))
        for chosen in [s for s in self.chosen if "alone" in s.options] + again:
            try:
                self.compare(place, chosen)
            except (Lost, OSError, Disturbed) as lost:
                report.ok(False, f"{chosen.name} loses no server", lost)
                place = nodes.Place(self.nodes, next(self.numbers))
        if len(self.chosen) == len(self.all):
            for entry in self.entries:
                report.ok(entry.used, f"{entry.scenario} still differs as line {entry.line} of differences says")

    def once(self, place, chosen, settings):
        run = runner.Run(place, chosen, settings)
        try:
            return run.go(), run
        except (Lost, OSError) as lost:
            if not self.serial:
                raise Disturbed(str(lost)) from None
            return ["a server crashed"], run
        finally:
            run.close()

    def compare(self, place, chosen):
        started = time.monotonic()
        try:
            reference, run = self.once(place, chosen, OFF)
        except scenarios.Malformed as malformed:
            report.ok(False, f"{chosen.name} is a scenario", malformed)
            return
        if self.options.verbose:
            report.comment("\n".join([f"---- {chosen.name}: postgres_fdw", *reference]))
        report.ok(not run.remarks, f"{chosen.name} goes as it says with postgres_fdw", "\n".join([*run.remarks, *reference]))
        for variant, settings in self.variants.items():
            got, run = self.once(place, chosen, settings)
            changed = differences.changes(reference, got)
            entry = changed and differences.by_intent(self.entries, chosen.name, variant, changed)
            if changed and not entry:
                again, _ = self.once(place, chosen, OFF)
                if again != reference:
                    changed = ["postgres_fdw itself does not print the same twice:", *differences.changes(reference, again)]
            report.ok(not changed or entry, f"{chosen.name} {'differs by intent' if entry else 'is as with postgres_fdw'}: {variant}",
                      "\n".join([f"({run.used})", *context(changed, reference, got)]))
        if self.options.verbose:
            report.comment(f"{chosen.name}: {run.used}, {time.monotonic() - started:.1f} s")


def context(changed, reference, got):
    """The changed lines, with the steps that they belong to."""
    lines, step, shown = [], "", ""
    for line in difflib.ndiff(reference, got):
        if line[0] == "?":
            continue
        if line[2:].startswith("-- "):
            step = line[2:]
        if line[0] in "-+":
            if step != shown:
                lines.append(step)
                shown = step
            lines.append(line[0] + line[2:])
    return lines or changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("what", nargs="*")
    options = parser.parse_args()
    parts = [part for part in PARTS if part in options.what]
    wanted = [word for word in options.what if word not in PARTS]
    if not parts:
        parts = ["scenarios"] if wanted else list(PARTS)

    def run(part, work):
        started = time.monotonic()
        if part == "scenarios":
            Scenarios(work, options, wanted).run()
        else:
            folder = os.path.join(work, part)
            os.mkdir(folder)
            os.chown(folder, harness.server_user().pw_uid, harness.server_user().pw_gid)
            module = __import__({"forged": "lie_everywhere", "cancel": "cancel_everywhere"}[part])
            module.run(folder, options.verbose)
        report.comment(f"{part}: {time.monotonic() - started:.0f} s")

    def body(work):
        for part in parts:
            run(part, work)
        return report.done()
    return harness.main(body)


sys.exit(main())
