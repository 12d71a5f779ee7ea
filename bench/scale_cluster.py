"""Many foreign servers for bench/scale.py and scripts/check_scale.py: each is
a database of one of a few instances.

A layout is a table t on the coordinator, whose partitions lie on so many
servers, so many on each. They are ranges of id, dealt out to the servers in
turn. Its rows are the same in each layout."""
import concurrent.futures

import client
import harness
import processes
from scale_report import STREAMS

# The columns of row i
COLUMNS = "id int NOT NULL, grp int, amount numeric(10,2), name text"
ROW = "i, i % 100, (i::bigint * 7919 % 1000003 / 100.0)::numeric(10,2)," \
      " 'name of row ' || i"
# All columns travel: OFFSET 0 keeps the aggregates here.
QUERY = "SELECT count(*), sum(id::bigint), sum(grp), sum(amount)," \
        " sum(length(name)) FROM (SELECT * FROM t OFFSET 0) x"
COMMON = {"autovacuum": "off", "jit": "off", "wal_level": "minimal",
          "max_wal_senders": "0", "max_wal_size": "8GB",
          "max_locks_per_transaction": "1024", "shared_buffers": "128MB",
          "synchronous_commit": "off"}


def rows_of(server, sql, database="postgres"):
    """Run SQL in a session of its own."""
    with client.Client(server, database) as session:
        return session.run(sql)


class Many:
    """The instances, and a coordinator with foreign servers s0, s1, …"""

    def __init__(self, work, servers, instances=4, settings=None):
        self.servers = servers
        share = -(-servers // instances)
        self.instances = [harness.Server(work, f"instance{number}", {
            **COMMON, "max_connections": str(share * (STREAMS + 1) + 20)})
            for number in range(instances)]
        # A connection takes a descriptor; postgres_fdw's may take a third of
        # them.
        self.coordinator = harness.Server(work, "coordinator", {
            **COMMON, "max_connections": "60",
            "max_files_per_process": str(4000 + servers * 8),
            "session_preload_libraries": "pg_exchange", **(settings or {})})
        self.coordinator.sql("CREATE EXTENSION postgres_fdw;"
                             "CREATE EXTENSION pg_exchange;")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(self._fill_instance, range(instances)))
        for number in range(servers):
            port = self.instance(number).port
            self.coordinator.sql(f"""
                CREATE SERVER s{number} FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{port}', dbname 'd{number}',
                    fetch_size '10000', async_capable 'true');
                CREATE USER MAPPING FOR CURRENT_USER SERVER s{number}
                OPTIONS (user 'postgres')""")

    def instance(self, server):
        return self.instances[server % len(self.instances)]

    def _fill_instance(self, number):
        instance = self.instances[number]
        rows_of(instance, "CREATE EXTENSION pg_exchange", "template1")
        for server in range(number, self.servers, len(self.instances)):
            rows_of(instance, f"CREATE DATABASE d{server}")

    def lay_out(self, servers, partitions, rows):
        """Make the layout, in place of the one before."""
        count = servers * partitions
        ends = [rows * number // count for number in range(count + 1)]

        def fill(server):
            text = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
            for number in range(server, count, servers):
                text += f"""CREATE TABLE t{number} ({COLUMNS});
                    INSERT INTO t{number} SELECT {ROW} FROM generate_series(
                    {ends[number] + 1}, {ends[number + 1]}) i;"""
            for sql in (text, "VACUUM (FREEZE, ANALYZE)"):
                rows_of(self.instance(server), sql, f"d{server}")

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(fill, range(servers)))
        with client.Client(self.coordinator) as session:
            session.run("DROP TABLE IF EXISTS t; CREATE TABLE t"
                        f" ({COLUMNS}) PARTITION BY RANGE (id)")
            for number in range(count):
                session.run(
                    f"CREATE FOREIGN TABLE t{number} PARTITION OF t FOR"
                    f" VALUES FROM ({ends[number] + 1}) TO"
                    f" ({ends[number + 1] + 1}) SERVER s{number % servers}")
            session.run("SELECT exchange.analyze('public')")
            session.run("VACUUM ANALYZE pg_class, pg_attribute, pg_statistic,"
                        " pg_foreign_table, pg_inherits")
        for server in (self.coordinator, *self.instances):
            server.sql("CHECKPOINT")

    def expected(self, rows):
        """What QUERY returns of so many rows."""
        return rows_of(self.coordinator, QUERY.replace(
            "SELECT * FROM t OFFSET 0", "SELECT i AS id, i % 100 AS grp,"
            " (i::bigint * 7919 % 1000003 / 100.0)::numeric(10,2) AS amount,"
            " 'name of row ' || i AS name FROM"
            f" generate_series(1, {rows}) i"))[0]

    def backends_there(self):
        """Process ids of the sessions that a coordinator has."""
        return [pid for instance in self.instances
                for pid in processes.backends(instance, r"d\d+")]

    def wait_until_idle(self):
        """Wait until the sessions of coordinators that ended are gone."""
        if harness.wait_for(lambda: len(self.backends_there()), 0):
            raise harness.Failure("sessions are left on the instances")
