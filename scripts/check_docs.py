#!/usr/bin/env python3
"""Run what README.md, doc/operations.md and doc/tutorial.md tell their readers to do, hold the references against the code, print TAP.

The fenced blocks of a document run in the order of its text, each by a shell or psql of its own. Those of README.md
and, after it, doc/operations.md run a second time on other servers, with one session of psql for each server:

    ```sh    by bash -e, as the user that servers run as. README.md: in a copy of the source tree; doc/tutorial.md:
             in an empty folder
    ```sql   by psql, under a line  <!-- node: NAME -->: a server of README.md (shard1 and coordinator, which this script
             starts) or of the tutorial (which its own shell blocks start, on the ports of TUTORIAL_PORTS).
             <!-- node: NAME, later -->: after all other blocks of the document, which make what it needs
    ```text  what the block before it prints, all of it, but for the frame that psql puts around a plan; a line … stands
             for any lines

What varies from run to run is compared by its shape: a number with a decimal point or a unit of size or time counts as
any other such number, a run of blanks or dashes as one. Integers must be equal. A line <!-- skip: reason --> above
a block leaves it out. Addresses and ports of the text stand for those of the servers: host 'shard1', port '5432'
in README.md, and TUTORIAL_PORTS. With --write, a text block that differs is replaced by what was printed: look at the
difference before you commit it.

doc/settings.md must have the line that pg_settings gives for each setting, and a section for each; the defaults in
README.md must be right. doc/troubleshooting.md must have a section for each reason not to read by a stream that the source can
give (REASONS says how they are found) and that the tests show. doc/check.md must explain each fault of exchange.check. README.md
has 200 lines at most, and links lead to files. Its figures are those of bench/report. make demo must work."""
import glob
import os
import re
import shutil
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import report  # noqa: E402

README_LINES_MAX = 200
TUTORIAL_PORTS = {"coordinator": 5440, "shard1": 5441, "shard2": 5442, "shard3": 5443, "shard4": 5444}
UNITS = r"(?:bytes|[kMG]?B|us|ms|s|min|%)\b"

# Where reasons not to read by a stream, or not by an exchange at all, are written, and how. What is filled in, or added, ends the
# part that is looked for. fail_beginning completes what it is given with the remote's message.
OUTCOME = r'\bpx_(?:busy|silent|failed|refused)\((?:psprintf\()?"([^"]*)"'
ASSIGNED = r'\b(?:reason|refusal|against) = (?:psprintf\(|pstrdup\()?"([^"]*)"'
RETURNED = r'\breturn (?:psprintf\(|pstrdup\()?"([^"]*)"'
EITHER = r'[?:]\s*"([a-z][^"]*)"'
REASONS = {
    "exec/start.c": (OUTCOME, RETURNED, r'(?:start|leave_to)_child\(state, "([^"]*)"'),
    "exec/ask_session.c": (OUTCOME, EITHER),
    "exec/ask_session.h": (r'#define PX_LITTLE_WORK\s+"([^"]*)"',),
    "exec/read_slices.c": (r'px_open_session\(state, reader, "([^"]*)"',),
    "exec/ask_plan.c": (OUTCOME,),
    "exec/ask_types.h": (r'#define PX_OTHER_TYPES\s+"([^"]*)"',),
    "exec/broadcast_ask.c": (RETURNED,),
    "exec/redistribute.c": (r"give_up\(all, \"([^\"]*)\"",),
    "node/broadcast.c": (RETURNED,),
    "exec/explain.c": (r'px_refused\([^;]*\?\s*"([^"]*)"', r'px_refused\([^;]*\?\s*"[^"]*" :\s*"([^"]*)"'),
    "exec/write_rules.c": (RETURNED,),
    "exec/write_rules.h": (r'#define PX_WRITE_FEW_ROWS "([^"]*)"',),
    "exec/write_ask.c": (r'\breturn "([^"]*)"',),
    "exec/write_statement.c": (RETURNED,),
    "exec/write_target.h": (r'#define PX_WRITE_\w+\s+"([^"]*)"',),
    "conn/genuine.h": (r'#define PX_REMOTE_\w+\s+(?:\\\n\s*)?"([^"]*)"',),
    "conn/answer.c": (r'"(session does not answer [^"]*)"',),
    "conn/introduce.c": (OUTCOME, ASSIGNED, RETURNED),
    "conn/connect.c": (OUTCOME,),
    "conn/pool.c": (OUTCOME,),
    "transport/question.c": (OUTCOME,),
    "transport/stream.c": (OUTCOME, r'fail_beginning\(stream, "([^"]*)"'),
    "admit/admit.c": (ASSIGNED, RETURNED),
    "admit/describe.c": (ASSIGNED, RETURNED),
    "admit/guarded.h": (r'#define PX_QUERY_FAILS\s+"([^"]*)"',),
    "admit/session.c": (r'\bset_reason\([^";]*"((?:[^"\\]|\\.)*)"',),
    "plan/marker.c": (r'PX_ERRCODE_DECLINED\),\s*errmsg\("((?:[^"\\]|\\.)*)"',),
}


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


# ---- blocks ------------------------------------------------------------------------------------

def blocks(text):
    """Fenced blocks as (line number, language, {marker: value}, body)."""
    marks, language, body, start = {}, None, [], 0
    for at, line in enumerate(text.splitlines(), 1):
        if language is not None:
            if line.startswith("```"):
                yield start, language, marks, "\n".join(body)
                marks, language = {}, None
            else:
                body.append(line)
        elif line.startswith("```"):
            language, body, start = line[3:].strip(), [], at
        elif (mark := re.fullmatch(r"<!-- (node|skip): (.*?)(, later)? -->", line.strip())):
            marks[mark[1]] = mark[2]
            if mark[3]:
                marks["later"] = True
        elif line.strip():
            marks = {}


def shape(line):
    """A line without what varies."""
    line = re.sub(r"(rows=\d+)\.00\b", r"\1", line)   # PostgreSQL 18
    line = re.sub(rf"\b\d+\.\d+(?: ?{UNITS})?|\b\d+ ?{UNITS}", "#", line)
    return re.sub(r"\s+", " ", re.sub(r"-{2,}", "--", line)).strip()


def without_frame(output):
    """A plan without psql's heading, rule, row count and first column of blanks; other output as it is."""
    lines = output.rstrip("\n").split("\n")
    if lines[0].strip() != "QUERY PLAN":
        return output.rstrip("\n")
    return "\n".join(line[1:] for line in lines[2:] if not re.fullmatch(r"\(\d+ rows?\)", line)).rstrip("\n")


def difference(expected, actual):
    """What is wrong with some output, "" if nothing is."""
    expected = [shape(line) for line in expected.splitlines() if line.strip()]
    actual = [shape(line) for line in actual.splitlines() if line.strip()]
    at = 0
    for i, line in enumerate(expected):
        if line == "…":
            continue
        if i > 0 and expected[i - 1] == "…":
            while at < len(actual) and actual[at] != line:
                at += 1
        if at == len(actual) or actual[at] != line:
            return f"expected: {line}\ngot: {actual[at] if at < len(actual) else 'no more lines'}"
        at += 1
    return "" if at == len(actual) or expected[-1:] == ["…"] else f"not expected: {actual[at]}"


def in_order(found):
    """Blocks in the order that they run in: first those that are not to run later. A text block stays with its query."""
    found, first, later = list(found), [], []
    for i, block in enumerate(found):
        late = block[2].get("later") or (block[1] == "text" and i > 0 and found[i - 1][2].get("later"))
        (later if late else first).append(block)
    return first + later


class Document:
    """Runs the blocks of one document. ports: of the text's servers; translate: (text, what stands for it here);
    sessions: those that all blocks of a server run in, else each has one of its own."""

    def __init__(self, name, work, folder, ports, translate, sessions=None):
        self.name, self.work, self.folder, self.ports, self.translate, self.sessions = name, work, folder, ports, translate, sessions
        self.moved = []   # (line, lines by which --write has moved what follows it)

    def here(self, text):
        for theirs, ours in self.translate:
            text = text.replace(theirs, ours)
        return text

    def there(self, text):
        for theirs, ours in self.translate:
            text = text.replace(ours, theirs)
        return text

    def run(self, language, body, marks):
        """What a block prints."""
        if language == "sql" and self.sessions:
            return without_frame(self.there(self.sessions[marks["node"]].run(self.here(body))))
        if language == "sh":
            command, text = ["bash", "-eu"], f"cd '{self.folder}'\n{body}\n"
        else:
            command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.ports[marks["node"]]),
                       "-U", "postgres", "-d", "postgres"]
            text = body
        done = subprocess.run(command, input=self.here(text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=self.folder, env=harness.environment(self.work), timeout=300, **harness.as_server_user())
        if done.returncode != 0:
            raise harness.Failure(f"exit status {done.returncode}\n{done.stdout}")
        return without_frame(self.there(done.stdout))

    def write(self, line, body, output):
        """Replace the body of the block at a line; later blocks move, which their line numbers do not know."""
        lines = read(self.name).split("\n")
        start = line + sum(by for at, by in self.moved if at < line)
        had = len(body.split("\n")) if body else 0
        lines[start:start + had] = output.split("\n")
        self.moved.append((line, len(output.split("\n")) - had))
        with open(os.path.join(ROOT, self.name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

    def check(self):
        output = None
        for line, language, marks, body in in_order(blocks(read(self.name))):
            name = f"{self.name}:{line}: {'in one session, ' if self.sessions else ''}the {language} block "
            if "skip" in marks:
                output = None
                report.skip(name + "runs", marks["skip"])
            elif language == "text":
                if output is not None:
                    wrong = difference(body, output)
                    report.ok(not wrong, name + "is what the block before it prints", f"{wrong}\n---- all of it:\n{output}")
                    if wrong and "--write" in sys.argv:
                        self.write(line, body, output)
                    output = None
                elif "skip" not in marks:
                    report.ok(False, name + "has one before it that prints it")
            elif language == "sh" or (language == "sql" and marks.get("node") in self.ports):
                try:
                    output = self.run(language, body, marks)
                    report.ok(True, name + "runs")
                except (harness.Failure, subprocess.TimeoutExpired) as failure:
                    output = None
                    report.ok(False, name + "runs", failure)
            else:
                report.ok(False, name + "says where it runs, or why not")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def owned_folder(work, name):
    folder = os.path.join(work, name)
    os.mkdir(folder)
    os.chown(folder, harness.server_user().pw_uid, harness.server_user().pw_gid)
    return folder


class PsqlSession(harness.Session):
    """A psql that a reader types all into, with its usual output."""

    def __init__(self, server):
        super().__init__(server)
        self.run("\\pset format aligned\n\\pset tuples_only off")


class Node(harness.Server):
    """A server of README.md, which has read its settings before the next block runs."""

    def settle(self, before):
        harness.wait_for(lambda: self.sql(f"SELECT pg_conf_load_time() > '{before}'"), "t")


class ReadmeDocument(Document):
    servers = {}

    def run(self, language, body, marks):
        if "pg_reload_conf" not in body:
            return super().run(language, body, marks)
        server = self.servers[marks["node"]]
        before = server.sql("SELECT clock_timestamp()")
        output = super().run(language, body, marks)
        server.settle(before)
        return output


def check_readme(work, tree, one_session):
    """README.md, then doc/operations.md, which ends with the extension's removal."""
    folder = owned_folder(work, "one" if one_session else "each")
    # Both nodes are one machine here: without local_scope = none they would not compress. One coordinator has a library already.
    before = "" if one_session else "auto_explain"
    after = "pg_exchange" if one_session else "auto_explain, pg_exchange"
    servers = {"shard1": Node(folder, "shard1", {}),
               "coordinator": Node(folder, "coordinator", {"pg_exchange.local_scope": "none", "session_preload_libraries": before})}
    coordinator = servers["coordinator"]
    ReadmeDocument.servers = servers
    sessions = {name: PsqlSession(server) for name, server in servers.items()} if one_session else None
    arguments = (work, tree, {name: server.port for name, server in servers.items()},
                 [(f"host '{name}', port '5432'", f"host '127.0.0.1', port '{server.port}'") for name, server in servers.items()], sessions)
    way = "in one session, " if one_session else ""
    ReadmeDocument("README.md", *arguments).check()
    libraries = coordinator.sql("SHOW session_preload_libraries")
    report.ok(libraries == after, f"{way}README.md keeps the libraries that were there", libraries)
    plan = coordinator.sql("SET pg_exchange.local_scope = host; EXPLAIN (ANALYZE) SELECT * FROM orders")
    hint = "Compression: NONE (same host)"
    report.ok(hint in plan and hint in read("README.md"), f"{way}README.md has what EXPLAIN says on one machine", plan)
    ReadmeDocument("doc/operations.md", *arguments).check()
    libraries = coordinator.sql("SHOW session_preload_libraries")
    report.ok(libraries == before, f"{way}Uninstall keeps the other libraries", libraries)
    count = "SELECT count(*) FROM (SELECT * FROM orders OFFSET 0) o"
    for session in [coordinator] + (list(sessions.values())[1:] if sessions else []):
        rows = (session.sql if session is coordinator else session.run)(count)
        report.ok("200000" in rows, f"{way}the foreign table is there after Uninstall", rows)
    for session in (sessions or {}).values():
        session.close()


def check_tutorial(work):
    ports = dict(zip(TUTORIAL_PORTS, free_ports(len(TUTORIAL_PORTS))))
    Document("doc/tutorial.md", work, owned_folder(work, "tutorial"), ports,
             [(str(TUTORIAL_PORTS[name]), str(port)) for name, port in ports.items()]).check()


# ---- references --------------------------------------------------------------------------------

def settings_lines(server):
    """The table of doc/settings.md: {name: line}."""
    answer = server.sql(r"""
        SELECT format('| [`%s`](#%s) | %s | `%s` | %s | %s | %s | %s |', name, replace(replace(name, '.', ''), ' ', ''), vartype,
            CASE WHEN vartype = 'string' THEN quote_literal(boot_val) WHEN vartype = 'bool' OR unit IS DISTINCT FROM 'B' THEN boot_val
                ELSE CASE WHEN boot_val::bigint % 1048576 = 0 THEN boot_val::bigint / 1048576 || 'MB'
                    WHEN boot_val::bigint % 1024 = 0 THEN boot_val::bigint / 1024 || 'kB' ELSE boot_val END END,
            CASE unit WHEN 'B' THEN 'bytes' ELSE coalesce(unit, '–') END,
            CASE WHEN vartype = 'enum' THEN array_to_string(enumvals, ', ') WHEN min_val IS NOT NULL THEN min_val || ' … ' || max_val ELSE '–' END,
            context, short_desc)
        FROM pg_settings WHERE name LIKE 'pg\_exchange.%' ORDER BY name""")
    return {re.match(r"\| \[`([^`]*)`", line)[1]: line for line in answer.split("\n")}


def check_settings(work):
    # Some settings are there only if the library was loaded when the server started.
    server = harness.Server(work, "settings", {"shared_preload_libraries": "pg_exchange"})
    lines = settings_lines(server)
    document = read("doc/settings.md").splitlines()
    for name, line in lines.items():
        report.ok(line in document, f"doc/settings.md has the line of {name} as the server has it", f"expected: {line}")
        report.ok(f"### {name}" in document, f"doc/settings.md has a section about {name}")
    known = [match[1] for match in map(re.compile(r"\| \[`(pg_exchange\.\w+)`").match, document) if match]
    report.ok(known == list(lines) and len(known) >= 10, "doc/settings.md lists all settings, sorted by name, and no others", f"{known}\n{list(lines)}")
    for setting, default in re.findall(r"^\| `(pg_exchange\.\w+)` \| `([^`]*)`", read("README.md"), re.M):
        try:
            answer = server.sql(f"SELECT set_config('{setting}', $v${default.strip(chr(39))}$v$, false);"
                                f"SELECT setting = boot_val, boot_val FROM pg_settings WHERE name = '{setting}';")
        except harness.Failure as failure:
            answer = str(failure)
        report.ok(answer.splitlines()[-1:] and answer.splitlines()[-1].startswith("t|"), f"README.md has the right default of {setting}", f"got {answer}")


def reasons():
    """{what a reason begins with: file}: up to the first thing that is filled in."""
    found = {}
    for file, patterns in REASONS.items():
        here = {reason for pattern in patterns for reason in re.findall(pattern, read("src/" + file))}
        report.ok(here, f"the patterns of REASONS find reasons in src/{file}", patterns)
        found.update((re.split(r"[%\\]", reason)[0].strip(), file) for reason in here)
    return {begin: file for begin, file in found.items() if begin}


def check_troubleshooting():
    """Each section of the third level has a reason, or what some begin with (up to a colon), for its heading."""
    def is_about(heading, reason):
        return heading.startswith(reason) or (heading.endswith(":") and reason.startswith(heading))

    headings = re.findall(r"^### (.*)", read("doc/troubleshooting.md"), re.M)
    found = reasons()
    report.ok(len(found) >= 40, "the source has 40 reasons or more", found)
    for reason, file in sorted(found.items()):
        report.ok(any(is_about(heading, reason) for heading in headings), f"doc/troubleshooting.md has a section about: {reason}",
                  f"a reason of src/{file}")
    for heading in headings:
        report.ok(any(is_about(heading, reason) for reason in found), f"the source has the reason that doc/troubleshooting.md explains: {heading}")
    # What a remote of a test makes up follows its answer: against=moon%20phase.
    shown = {reason for path in glob.glob(ROOT + "/expected/*.out") for reason in re.findall(
        r"^(?!.*against=).*(?:postgres_fdw|session) \(([^()]*)\)\s*$", read(os.path.relpath(path, ROOT)), re.M)}
    report.ok(len(shown) >= 5, "the files in expected/ show 5 reasons or more", shown)
    for reason in sorted(shown):
        report.ok(any(reason.startswith(begin) for begin in found), f"REASONS finds a reason that a test shows: {reason}")


def check_demo():
    """make demo, with few rows: whether the answers are equal it says itself. Times are no matter here, bytes are."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "demo.py"), "--scale", "0.01", "--rounds", "1"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    report.ok(done.returncode == 0, "make demo ends well", done.stdout)
    shown, what = {}, ""
    for line in done.stdout.splitlines():
        if (row := re.match(r"(.{32}) (\w+) +\d+\.\d+ +(?:\d+\.\d+x +)?(\d+\.\d+)", line)):
            what = row[1].strip() or what
            shown.setdefault(what, {})[row[2]] = float(row[3])
    report.ok([len(ways) for ways in shown.values()] == [5, 2, 2, 2, 2, 2], "make demo shows a scan in each mode, and five other statements", done.stdout)
    for what, ways in shown.items():
        report.ok(ways["auto"] < 0.8 * ways["postgres_fdw"], f"make demo has fewer bytes in mode auto: {what}", ways)


def check_figures():
    """Figures of README.md's benchmarks are in the reports that their line leads to; those of egress are the sums of one."""
    section = read("README.md").split("\n## Benchmarks\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("- ")]
    for line in lines:
        reports = "".join(read(link) for link in re.findall(r"\((bench/report/\w+\.md)\)", line))
        figures = re.findall(r"(?<![\d.])\d+\.\d+", line)
        lost = [figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", reports)]
        report.ok(figures and not lost, f"the reports have the figures of README.md: {line.split('**')[1]}", lost)
    report.ok(len(lines) >= 4, "README.md quotes benchmarks", lines)
    hashed = read("bench/report/tpch.md").split("\n## Partitions by hash\n")[1].split("\n## ")[0]
    both = [(float(theirs), float(ours)) for theirs, ours in re.findall(r"^\| Q\d+ .*\| ([\d.]+) \| ([\d.]+) \|$", hashed, re.M)]
    sums = [f"{sum(column):,.0f} MB" for column in zip(*both)]
    report.ok(all(each in read("doc/operations.md") for each in sums), "doc/operations.md has the bytes of the report", sums)


def check_faults():
    """The faults that exchange.check names are those of the tables of doc/check.md."""
    code = "".join(read(os.path.relpath(path, ROOT)) for path in sorted(glob.glob(ROOT + "/src/check/*.[ch]"))
                   if not path.endswith("compare.c"))
    named = set(re.findall(r'(?:\bfault = |PX_FAULT_\w+\s+|^\t\{[^,\n]+, )"(\w+)"', code, re.M))
    rows = re.findall(r"^\|[^|]*\| ((?:`\w+`(?:, | and the like)?)+) \|", read("doc/check.md"), re.M)
    explained = {fault for row in rows for fault in re.findall(r"`(\w+)`", row)}
    report.ok(len(named) >= 30 and named == explained, "doc/check.md explains the faults that exchange.check names, and no others",
              f"not explained: {sorted(named - explained)}\nnot in the source: {sorted(explained - named)}")
    tested = read("test/t/035_check.pl") + read("expected/check.out")
    untested = sorted(fault for fault in named if not re.search(rf"\b{fault}\b", tested))
    report.ok(len(untested) <= 10, "most faults are tested", untested)


def check_links():
    for path in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "monitoring/README.md", "src/README.md", *sorted(
            os.path.relpath(path, ROOT) for path in glob.glob(ROOT + "/doc/*.md"))]:
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", read(path))
        lost = [link for link in links if not os.path.exists(os.path.join(ROOT, os.path.dirname(path), link))]
        report.ok(not lost, f"all {len(links)} links of {path} lead to files", lost)


def check(work):
    tree = os.path.join(work, "tree")
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", "*.o", "results"))
    subprocess.check_call(["chown", "-R", str(harness.server_user().pw_uid), tree])
    check_readme(work, tree, one_session=False)
    check_readme(work, tree, one_session=True)
    lines = len(read("README.md").splitlines())
    report.ok(lines <= README_LINES_MAX, f"README.md has at most {README_LINES_MAX} lines", f"{lines} lines")
    check_tutorial(work)
    check_demo()
    check_figures()
    check_settings(work)
    check_troubleshooting()
    check_faults()
    check_links()
    return report.done()


sys.exit(harness.main(check))
