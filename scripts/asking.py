"""Ask servers random queries: for check_aggregates.py and check_joins.py.

A session that goes on after an error, the nodes of a plan, and how a query
that fails is made smaller. The Query of a generator has text(), what is sent,
and smaller(), queries that are itself without one of its parts."""
import re

import harness
import report

SMALLER_MAX = 80        # attempts to make a failure smaller


class Asker:
    """A session with some settings; it goes on after an error."""

    def __init__(self, server, setup, timeout):
        self.server, self.session = server, None
        self.setup = f"SET statement_timeout = '{timeout}'; {setup}"

    def ask(self, sql):
        """The rows, as lists of texts; or the SQLSTATE and the message."""
        if not self.session:
            self.session = harness.Session(self.server)
            self.session.run("\\set ON_ERROR_STOP 0\n"
                             "\\set VERBOSITY verbose\n"
                             "\\pset null NULL\n\\pset fieldsep '\\t'\n"
                             f"SET timezone = 'UTC'; {self.setup}")
        try:
            text = self.session.run(sql)
        except harness.Failure as failure:      # it has gone
            self.session.kill()
            self.session = None
            text = "FATAL:  lost: " + str(failure)[-500:]
        found = re.search(r"^(?:ERROR|FATAL|PANIC):  (\w+): (.*)", text, re.M)
        if found:
            return list(found.groups())
        return [line.split("\t") for line in text.split("\n")] if text else []


def is_error(answer):
    return bool(answer) and isinstance(answer[0], str)


def assignments(settings):
    return "".join(f"SET {name} = {value};" if name == "search_path"
                   else f"SET {name} = '{value}';"
                   for name, value in settings.items())


def nodes(plan, above=()):
    """Pairs of each node of a plan and the types of those above it."""
    name = plan.get("Custom Plan Provider") or plan["Node Type"]
    yield name, plan, above
    for child in plan.get("Plans", []):
        yield from nodes(child, (*above, name))


def smallest(query, settings, differs, reset):
    """The smallest query with the fewest settings that still differs.

    differs(query, settings) asks it; reset(name) resets a setting."""
    for _ in range(SMALLER_MAX):
        for name in list(settings):
            rest = {one: value for one, value in settings.items()
                    if one != name}
            reset(name)
            if name != "search_path" and differs(query, rest):
                settings = rest
        smaller = next((one for one in query.smaller()
                        if differs(one, settings)), None)
        if smaller is None:
            break
        query = smaller
    return query, settings


def check_crashes(servers):
    """A test for each server: none of its processes has crashed."""
    for server in servers:
        with open(server.log, encoding="utf-8", errors="replace") as log:
            report.ok(not re.search("PANIC|was terminated by signal|TRAP",
                                    log.read()),
                      f"{server.name} has not crashed")
