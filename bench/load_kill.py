"""The part of bench/load.py in which shards are killed: sessions that go on
after errors, and judge them.

A transaction may fail if a shard was down at some time while it ran, or came
back just before: postgres_fdw's connection to it may not know yet. The error
must say that a connection was lost or cannot be made."""
import collections
import random
import threading
import time

import client
import harness

# Seconds after a shard is back in which a session may still meet the loss: a
# transaction that began before.
GRACE = 2.0
# SQLSTATEs of a server that is not there: connections that fail or are lost,
# shutdown, crash, and "not yet accepting connections".
GONE = ("08000", "08001", "08003", "08006", "57P01", "57P02", "57P03")

Failed = collections.namedtuple("Failed", "began ended kind error")


class Asker(threading.Thread):
    """One session: transactions of the mix until it is told to stop."""

    def __init__(self, number, server, kinds, stop):
        super().__init__(daemon=True)
        self.random = random.Random(number)
        self.server, self.kinds, self.stop = server, kinds, stop
        self.taken = {kind: [] for kind in kinds}
        self.failed, self.broken = [], None

    def run(self):
        try:
            with client.Client(self.server) as session:
                while not self.stop.is_set():
                    self.transaction(session)
        except (client.Lost, client.Error) as error:
            self.broken = str(error)    # the coordinator's own fault

    def transaction(self, session):
        kind = self.random.choices(
            list(self.kinds), [kind[0] for kind in self.kinds.values()])[0]
        _, most, sql = self.kinds[kind]
        sql = sql.replace(":id", str(self.random.randint(1, most)))
        began = time.monotonic()
        try:
            session.run(sql)
        except client.Error as error:
            if error.fatal:
                raise
            self.failed.append(Failed(began, time.monotonic(), kind, error))
            return
        self.taken[kind].append(time.monotonic() - began)


class Killer(threading.Thread):
    """Stops a shard each period, and starts it again. down: when, from and
    to."""

    def __init__(self, shards, options, stop):
        super().__init__(daemon=True)
        self.shards, self.options, self.stop = shards, options, stop
        self.down, self.failure = [], None

    def run(self):
        try:
            # The first one when all sessions have their connections
            while not self.stop.wait(self.options.period -
                                     self.options.down):
                shard = self.shards[len(self.down) % len(self.shards)]
                began = time.monotonic()
                harness.run(shard.work, "pg_ctl", "-s", "-w", "-m",
                            "immediate", "-D", shard.data, "stop")
                time.sleep(self.options.down)
                harness.start_again(shard)
                self.down.append((began, time.monotonic()))
        except harness.Failure as failure:
            self.failure = str(failure)


def judge(failed, down):
    """What is wrong with a transaction that has failed; None if nothing."""
    if failed.error.sqlstate not in GONE:
        return f"{failed.kind}: {failed.error}"
    if not any(failed.ended > begin and failed.began < end + GRACE
               for begin, end in down):
        return f"{failed.kind}, though all shards were up: {failed.error}"
    return None


def kill_part(servers, way, kinds, options, say):
    """({kind: [seconds of each transaction]}, what is wrong, a note)."""
    stop = threading.Event()
    askers = [Asker(number, servers.coordinators[way], kinds, stop)
              for number in range(options.sessions)]
    for asker in askers:
        asker.start()
    killer = Killer(servers.shards, options, stop)
    killer.start()
    time.sleep(options.kill_seconds)
    stop.set()
    killer.join()
    errors = []
    deadline = time.monotonic() + 120
    for asker in askers:
        asker.join(max(0, deadline - time.monotonic()))
    hanging = [asker for asker in askers if asker.is_alive()]
    if hanging:
        errors.append(f"kill, {way}: {len(hanging)} sessions hang: " +
                      servers.coordinators[way].sql(
                          "SELECT pid, wait_event, query FROM"
                          " pg_stat_activity WHERE state = 'active'"))
    if killer.failure:
        errors.append(f"kill, {way}: {killer.failure}")
    errors += [f"kill, {way}: a session has ended: {asker.broken}"
               for asker in askers if asker.broken]
    failed = [one for asker in askers for one in asker.failed]
    wrong = [text for one in failed if (text := judge(one, killer.down))]
    for text, count in collections.Counter(wrong).most_common(10):
        errors.append(f"kill, {way}: {count} times {text}")
        say(errors[-1])
    states = collections.Counter(one.error.sqlstate for one in failed)
    note = f"kill, {way}: {len(killer.down)} times a shard was down," \
        f" {len(failed)} transactions failed by that ({dict(states)})," \
        f" {len(wrong)} otherwise"
    return ({kind: [taken for asker in askers for taken in asker.taken[kind]]
             for kind in kinds}, errors, note)
