#!/usr/bin/env python3
"""Updates and upgrades of a database that uses pg_exchange; prints TAP.

  1. Every version of the extension that can be installed works with today's library: the definitions of an old
     pg_exchange--A.sql stay as they are in a database until it is updated.
  2. A release to come: a script to a made-up version, in a copy of the installation (links to its files, but for
     those that are other ones there). ALTER EXTENSION pg_exchange UPDATE, with sessions that have the library loaded, and a
     database that was updated has what one has that was made by CREATE EXTENSION.
  3. pg_dump and restore, and pg_upgrade to a new cluster: scans are exchanges as before, and privileges stay."""
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import installation  # noqa: E402
import report  # noqa: E402

NEXT = "99.0"   # the made-up version
SCRIPT = """\\echo Use "ALTER EXTENSION pg_exchange UPDATE" to load this file. \\quit
CREATE FUNCTION exchange.made_up() RETURNS text LANGUAGE sql RETURN 'made up';
CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text
AS 'MODULE_PATHNAME', 'px_sql_hello' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
"""


def release_next(folder, current):
    """Put the script and a control file with the new default version there."""
    with open(os.path.join(folder, f"pg_exchange--{current}--{NEXT}.sql"), "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    control = os.path.join(folder, "pg_exchange.control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    os.remove(control)   # it is a link
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"default_version = '.*'", f"default_version = '{NEXT}'", text))


def make_database(server, name, version):
    """A database that reads from itself, with the extension at a version."""
    server.sql(f"CREATE DATABASE {name}")
    server.sql(f"""
        CREATE EXTENSION postgres_fdw;
        CREATE EXTENSION pg_exchange VERSION '{version}';
        CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{server.port}', dbname '{name}');
        CREATE USER MAPPING FOR CURRENT_USER SERVER self OPTIONS (user 'postgres');
        CREATE TABLE near AS SELECT i AS id, 'row ' || i AS name FROM generate_series(1, 10000) i;
        CREATE FOREIGN TABLE far (id int, name text) SERVER self OPTIONS (table_name 'near');""", name)


def scans(session):
    """How a scan travels, and whether it returns what it should."""
    plan = session.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM far")
    differing = session.run("SELECT count(*) FROM (TABLE far EXCEPT ALL TABLE near) x")
    transport = re.search(r"Transport: (.*)", plan)
    return f"{transport[1] if transport else plan}, {differing} differ"


def check_scan(name, session, transport="exchange v1, stream"):
    found = scans(session)
    report.ok(found == f"{transport}, 0 differ", f"{name}, a scan travels by {transport}", found)


def definitions(server, database):
    """What the extension consists of, with everything that may differ."""
    return server.sql("""
        SELECT extversion FROM pg_extension WHERE extname = 'pg_exchange';
        SELECT pg_describe_object(classid, objid, 0) AS object, (SELECT pg_get_functiondef(objid) || coalesce(proacl::text, '')
            || coalesce(obj_description(oid, 'pg_proc'), '') FROM pg_proc
            WHERE oid = objid AND classid = 'pg_proc'::regclass),
            (SELECT coalesce(relacl::text, '') || coalesce(pg_get_viewdef(oid), '') FROM pg_class
            WHERE oid = objid AND classid = 'pg_class'::regclass AND relkind = 'v')
        FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
            AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_exchange') ORDER BY object;
        SELECT nspacl FROM pg_namespace WHERE nspname = 'exchange';""", database)


def check_update(work, server, extension, current):
    make_database(server, "updated", current)
    release_next(extension, current)
    with harness.Session(server, "updated") as session, harness.Session(server, "updated") as bystander:
        check_scan("before the update", bystander)
        session.run("ALTER EXTENSION pg_exchange UPDATE")
        report.ok(session.run("SELECT exchange.made_up()") == "made up", f"ALTER EXTENSION pg_exchange UPDATE leads from {current} to {NEXT}")
        check_scan("after the update, in the session that did it", session)
        check_scan("after the update, in another that was there before", bystander)
    with harness.Session(server, "updated") as session:
        check_scan("after the update, in a new session", session)
    make_database(server, "created", NEXT)
    updated, created = definitions(server, "updated"), definitions(server, "created")
    report.ok(updated == created and NEXT in created and "made_up" in created, "updated and created databases have the same definitions",
              f"updated:\n{updated}\ncreated:\n{created}")
    server.sql("CREATE DATABASE older")
    server.sql(f"CREATE EXTENSION pg_exchange VERSION '{current}'", "older")
    report.ok(definitions(server, "older") != created, "a database that was not updated has other definitions")


def check_dump(work, server):
    dump = os.path.join(work, "dump.sql")
    server.sql("CREATE ROLE reader; REVOKE USAGE ON SCHEMA exchange FROM PUBLIC; GRANT USAGE ON SCHEMA exchange TO reader", "updated")
    harness.run(work, "pg_dump", "-h", work, "-p", str(server.port), "-U", "postgres", "-f", dump, "updated")
    server.sql("CREATE DATABASE restored")
    harness.run(work, *server.psql_command("restored"), "-f", dump)
    server.sql("ALTER SERVER self OPTIONS (SET dbname 'restored')", "restored")
    with harness.Session(server, "restored") as session:
        check_scan("after pg_dump and restore", session)
    before, after = definitions(server, "updated"), definitions(server, "restored")
    report.ok(before == after and "reader=U" in after, "pg_dump and restore keep definitions and privileges",
              f"before:\n{before}\nafter:\n{after}")


def check_pg_upgrade(work, server):
    before = definitions(server, "updated")
    harness.run(work, "pg_ctl", "-s", "-m", "fast", "-D", server.data, "stop")
    new = os.path.join(work, "new")
    harness.run(work, "initdb", "-D", new, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
    bindir = harness.pg_config("bindir")
    harness.run(work, "pg_upgrade", "-b", bindir, "-B", bindir, "-d", server.data, "-D", new, "-U", "postgres", "-s", work,
                "-p", str(server.port), "-P", str(server.port))
    harness.run(work, "pg_ctl", "-s", "-w", "-D", new, "-l", new + ".log", "-o",
                f"-p {server.port} -k {work} -c listen_addresses=127.0.0.1 -c session_preload_libraries=pg_exchange "
                "-c pg_exchange.min_bytes=0", "start")
    with harness.Session(server, "updated") as session:
        check_scan("after pg_upgrade", session)
    after = definitions(server, "updated")
    report.ok(before == after and "reader=U" in after, "pg_upgrade keeps definitions and privileges", f"before:\n{before}\nafter:\n{after}")


def check(work):
    os.environ["PG_CONFIG"] = installation.copy_installation(work)
    extension = os.path.join(harness.pg_config("sharedir"), "extension")
    server = harness.Server(work, "server", {"session_preload_libraries": "pg_exchange", "pg_exchange.min_bytes": "0"})
    versions = server.sql("SELECT version FROM pg_available_extension_versions WHERE name = 'pg_exchange' ORDER BY 1").split()
    report.ok(len(versions) == len({re.sub(r".*--|\.sql$", "", path) for path in glob.glob(ROOT + "/pg_exchange--*.sql")}),
              "each script makes a version available", versions)
    for version in versions:
        name = "v" + re.sub(r"\W", "_", version)
        make_database(server, name, version)
        with harness.Session(server, name) as session:
            # 1.0 has nothing that postgres_fdw's session could be asked.
            check_scan(f"with the definitions of {version} and today's library", session,
                       "postgres_fdw (remote's pg_exchange is too old)" if version == "1.0" else "exchange v1, stream")
    current = server.sql("SELECT default_version FROM pg_available_extensions WHERE name = 'pg_exchange'")
    check_update(work, server, extension, current)
    check_dump(work, server)
    check_pg_upgrade(work, server)
    return report.done()


sys.exit(harness.main(check))
