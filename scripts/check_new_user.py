#!/usr/bin/env python3
"""A new user's way, as README.md has it: from a clone of this repository to a compressed scan over two servers of their own.

Runs the block of shell commands under the marker <!-- skip: make check-new-user … -->, one command a line, as a user
with sudo in a fresh Debian 12 root (scripts/roots.py) that has git and sudo and nothing else, in a
clone of what is committed. There must be seven commands at most, each must succeed, and the last one print
the plan of a scan that came by exchange and was compressed. Then the scan is made to fall back for
five reasons: EXPLAIN must give the reason, doc/troubleshooting.md must explain it, exchange.check must have
advice, and the scan must be a stream again when that was followed. Needs root and the archives; PG_EXCHANGE_ROOTS names a
folder to keep the root in. What cannot be had is skipped with the reason. Prints TAP."""
import os
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import report  # noqa: E402
import roots  # noqa: E402

MAJOR = 15
COMMANDS_MAX = 7

# The servers that the commands make.
SHARD, COORDINATOR = 5441, 5442
EXPLAIN = "EXPLAIN (ANALYZE) SELECT * FROM orders"
CHECK = "SELECT item, fault, advice FROM exchange.check('shard') WHERE advice <> ''"
# What makes the scan fall back, and where: its name, port, SQL; what EXPLAIN shows, and the heading that explains
# it; what exchange.check shows; the SQL that mends it.
FALLBACKS = (
    ("no extension there", SHARD, "DROP EXTENSION pg_exchange", "Transport: postgres_fdw (remote has no pg_exchange)",
     "### remote has no pg_exchange", "extension there|extension_missing|", "CREATE EXTENSION pg_exchange"),
    ("version 1.0 there", SHARD, "DROP EXTENSION pg_exchange; CREATE EXTENSION pg_exchange VERSION '1.0'",
     "Transport: postgres_fdw (remote's pg_exchange is too old)", "### remote's pg_exchange is too old",
     "extension there|extension_too_old|", "ALTER EXTENSION pg_exchange UPDATE"),
    ("no library here", COORDINATOR, "ALTER ROLE postgres SET session_preload_libraries = plpgsql", "Foreign Scan on orders",
     "## The planner has left it to postgres_fdw", "library|not_preloaded|", "ALTER ROLE postgres RESET session_preload_libraries"),
    ("the session wanted", COORDINATOR, "ALTER ROLE postgres SET pg_exchange.transport = session",
     "Transport: exchange v1, session (transport is session)", "### transport is session", "transport||Streams are faster",
     "ALTER ROLE postgres RESET pg_exchange.transport"),
    ("exchanges off", COORDINATOR, "ALTER ROLE postgres SET pg_exchange.enabled = off", "Foreign Scan on orders",
     "- `pg_exchange.enabled` is off.", "enabled|disabled|", "ALTER ROLE postgres RESET pg_exchange.enabled"),
)


def commands():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        block = re.search(r"<!-- skip: make check-new-user .*?-->\s*```sh\n(.*?)```", readme.read(), re.S)
    return block[1].splitlines() if block else []


def psql(port, *statements):
    return " ".join(["sudo", "-u", "postgres", "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-p", str(port),
                     *(word for sql in statements for word in ("-c", shlex.quote(sql)))])


def fall_back(port, broken, mended):
    """The command that breaks a set-up, shows the scan and the check, mends it and shows the scan."""
    return " && ".join((psql(port, broken), psql(COORDINATOR, EXPLAIN), psql(COORDINATOR, CHECK), "echo :mended",
                        psql(port, mended), psql(COORDINATOR, EXPLAIN)))


def judge_fall_back(name, shown, heading, finding, output):
    """Whether the user has learnt from the output why the scan fell back, and mended it."""
    with open(os.path.join(ROOT, "doc", "troubleshooting.md"), encoding="utf-8") as doc:
        explained = heading in doc.read().splitlines()
    broken, _, mended = output.partition(":mended\n")
    lines = broken.splitlines()
    report.ok(explained and any(line.strip().startswith(shown) for line in lines), f"{name}: EXPLAIN and doc/troubleshooting.md tell", output)
    report.ok(any(line.startswith(finding) and len(line) > len(finding) for line in lines), f"{name}: exchange.check has advice", output)
    report.ok("Transport: exchange v1, stream" in mended, f"{name}: mended", output)


def walk(work):
    archive = roots.tarball("new-user", MAJOR, ("ca-certificates", "git", "sudo"), work)
    root = roots.Root(archive, os.path.join(work, "new-user"))
    # What is committed, as a server of git would have it.
    roots.run("git", "-c", "safe.directory=*", "clone", "-q", "--bare", "--no-hardlinks", ROOT, root.path + "/srv/pg_exchange.git")
    with open(root.path + "/etc/sudoers.d/user", "w", encoding="utf-8") as file:
        file.write("user ALL=(ALL) NOPASSWD: ALL\n")
    status, out = root.run("sh", "-ec", "useradd --create-home --shell /bin/bash user; git config --system safe.directory '*'; apt-get update 2>&1")
    if status != 0:
        raise roots.Unavailable(out)

    steps = commands()
    report.ok(0 < len(steps) <= COMMANDS_MAX, f"README.md has {COMMANDS_MAX} commands at most", f"{len(steps)} commands")
    # All in one shell, as one would type them, and in one name space: servers end with it.
    todo = steps + [fall_back(port, broken, mended) for _, port, broken, *_, mended in FALLBACKS]
    script = "\n".join(f"echo ':step {i}'\n{{ {step}\n}} || exit 1" for i, step in enumerate(todo))
    shell = root.popen(["setpriv", "--reuid=user", "--regid=user", "--init-groups", "env", "HOME=/home/user", "USER=user",
                        "bash", "-c", f"cd /home/user\ngit clone -q /srv/pg_exchange.git && cd pg_exchange || exit 1\n{script}\necho :done"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = shell.communicate(timeout=roots.TIMEOUT)
    except subprocess.TimeoutExpired:
        shell.kill()
        output, _ = shell.communicate()
    finally:
        shell.kill()
        shell.wait()
    parts = re.split(r"^:step \d+\n", output, flags=re.M)[1:]
    for i, step in enumerate(steps):
        done = i + 1 < len(parts) or (i + 1 == len(parts) and parts[i].endswith(":done\n"))
        if not report.ok(done, f"this command succeeds: {step[:100]}", parts[i] if i < len(parts) else "not reached"):
            return
    plan = parts[len(steps) - 1]
    report.ok("Transport: exchange v1" in plan and re.search(r"Compression: \w+ .*(lz4|zstd)", plan), "the last command prints the plan of a compressed scan", plan)
    report.comment(plan)
    for i, (name, _, _, shown, heading, finding, _) in enumerate(FALLBACKS, len(steps)):
        judge_fall_back(name, shown, heading, finding, parts[i] if i < len(parts) else "not reached")


def main():
    try:
        roots.become_root(["PG_EXCHANGE_ROOTS", "TMPDIR"])
        roots.prepare()
        with roots.work_folder() as work:
            walk(work)
    except roots.Unavailable as reason:
        report.skip("a new user gets to a compressed scan", reason)
    return report.done()


sys.exit(main())
