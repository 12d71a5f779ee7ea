#!/usr/bin/env python3
"""Does mode auto follow a link whose rate is changed in mid-scan? Two servers in network namespaces
(needs root, else it is skipped), and a link between them that is shaped by tbf to 20 Mbit/s while an
eighth of a table crosses it. Of this table zstd makes 2/3 of what encodings leave: that pays by far on
the slow link, and does not where nothing limits the link. Prints TAP.

This asks only whether the sender learns from a real socket: most batches of the slow eighth must have
been zstd's, and most of the others must not. How many batches it takes to follow is for
test/unit/test_adapt.c, whose links do not depend on what else the machine does. For the same reason
the scan stops at a gate where the rate is to change, rather than being caught at the right moment."""
import concurrent.futures
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
import cluster  # noqa: E402
import harness  # noqa: E402
import netns  # noqa: E402
import report  # noqa: E402

ATTEMPTS = 3        # scans, of which one has to do: the others may have met a busy machine
SLOW = 20           # Mbit/s
BUFFER = 512 * 1024 # of a socket: small, as what waits there was encoded before the rate changed
ROWS = 4000000
GATES = (ROWS // 4, ROWS // 4 + ROWS // 8)   # the rows at which the scan stops
TABLE = """id int, line smallint, page bigint, step bigint, few int, many int, price numeric(12,2), day date, hex text"""
ROW = """i, i % 7, i / 50, i * 3::bigint, i % 97, (i::bigint * 7919 % 1000003)::int, i % 100000 / 100.0, date '2020-01-01' + i % 700, substr(md5(i::text), 1, 16)"""


def start(work, here, there):
    near, far = netns.connect(here, there, 1)
    there.run("sysctl", "-q", "-w", f"net.ipv4.tcp_wmem=4096 65536 {BUFFER}")
    here.run("sysctl", "-q", "-w", f"net.ipv4.tcp_rmem=4096 65536 {BUFFER}")
    # One sender: several would wait in more buffers.
    conf = {**cluster.SETTINGS, "listen_addresses": "*", "max_parallel_workers_per_gather": "0"}
    shard = harness.Server(work, "there", conf, there)
    with open(os.path.join(shard.data, "pg_hba.conf"), "a", encoding="utf-8") as hba:
        hba.write("host all all 10.99.0.0/16 trust\n")
    shard.sql(f"""SELECT pg_reload_conf(); CREATE EXTENSION pg_exchange; CREATE TABLE events ({TABLE});
        INSERT INTO events SELECT {ROW} FROM generate_series(1, {ROWS}) i; VACUUM (FREEZE, ANALYZE) events;""")
    coordinator = harness.Server(work, "here", {**conf, "session_preload_libraries": "pg_exchange"}, here)
    coordinator.sql("CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;")
    cluster.add_server(coordinator, "shard", shard, host=far)
    # The function says that it is immutable, so that there may be a stream.
    coordinator.sql(f"""CREATE FOREIGN TABLE events ({TABLE}) SERVER shard;
        CREATE FUNCTION at_gate(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_lock_shared(id);
            PERFORM pg_advisory_unlock_shared(id);
            RETURN true;
        END $$""")
    return coordinator


def scan(coordinator, mode):
    """Read the table past the gates; returns the node."""
    with harness.Session(coordinator) as session:
        session.run(f"SET pg_exchange.compression = {mode}")
        return harness.exchange_nodes(session.explain(
            f"SELECT * FROM events WHERE CASE WHEN id IN {GATES} THEN at_gate(id) ELSE true END")[1])[0]


def wait_at_gate(keeper, gate, result):
    while keeper.run(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = {gate} AND NOT granted") == "0":
        if result.done():
            raise harness.Failure(f"the scan has passed the gate: {result.result()}")
        time.sleep(0.01)


def change_in_mid_scan(coordinator, here, there):
    """A scan by auto, over a link that is slow between the gates; returns the node."""
    with harness.Session(coordinator) as keeper, concurrent.futures.ThreadPoolExecutor() as pool:
        keeper.run("".join(f"SELECT pg_advisory_lock({gate});" for gate in GATES))
        result = pool.submit(scan, coordinator, "auto")
        for gate, mbit in zip(GATES, (SLOW, None)):
            wait_at_gate(keeper, gate, result)
            netns.shape(here, there, 1, mbit)
            keeper.run(f"SELECT pg_advisory_unlock({gate})")
        return result.result()


def body(work):
    reason = netns.why_not()
    if reason:
        report.skip("auto follows a link whose rate changes", reason)
        return report.done()
    with netns.namespaces(2) as (here, there):
        coordinator = start(work, here, there)
        for _ in range(ATTEMPTS):
            node = change_in_mid_scan(coordinator, here, there)
            batches, zstd = node["Wire Batches"], node["Zstd Batches"]
            slow = batches * (GATES[1] - GATES[0]) / ROWS
            report.comment(f"{node['Compression']}; {slow:.0f} of {batches} batches were slow; link {node['Link Rate (Mbit/s)']:.1f} Mbit/s")
            begins, ends = zstd > slow / 2, zstd - slow < (batches - slow) / 2
            if begins and ends:
                break
        report.ok(begins, f"most batches are zstd's at {SLOW} Mbit/s", f"{zstd} in all")
        report.ok(ends, "most batches are not zstd's where nothing limits the link", f"{zstd} in all")
    return report.done()


sys.exit(harness.main(body))
