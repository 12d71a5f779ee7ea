"""Run a scenario once: what its sessions were told, and who waited for whom until when."""
import re
import select
import time

from nodes import outgoing_ports, server_sql
from wire_client import Client, Lost, cancel
import scenario as scenarios

# A lock that has been waited for so long is waited for until somebody lets go of it: a stream gives up
# sooner, by its lock_timeout. By the server's clock, so that a busy machine makes no difference.
BLOCKED_SECONDS = 0.4
LIMIT = 60      # seconds that a step may take that does not wait for a lock; then it is taken to hang

WAITS = """SELECT a.pid, coalesce(a.leader_pid, 0), coalesce(a.client_port, 0), coalesce(l.waitstart::text, ''),
    coalesce(extract(epoch FROM clock_timestamp() - l.waitstart), -1), array_to_string(pg_blocking_pids(a.pid), ' ')
FROM pg_stat_activity a LEFT JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted
WHERE a.datname IN (%s)"""

TIMEOUTS = {"57014": "a cancel", "55P03": "a lock time-out", "25P03": "an idle time-out", "57P05": "an idle time-out", "40P01": "the deadlock detector"}


class Doing:
    """A step under way: the rest of its statements, who it was seen to wait for, and the lines it gave."""

    def __init__(self, number, step, todo):
        self.number, self.step, self.todo = number, step, todo
        self.started = time.monotonic()
        self.waited_for, self.wait, self.until = None, None, None
        self.lines = []


class Run:
    def __init__(self, place, scenario, settings):
        self.place, self.scenario, self.settings = place, scenario, settings
        self.clients, self.doing = {}, {}
        self.steps, self.remarks = [], []
        self.used, self.scans = "", 0
        self.current = 0

    # ---- setting up ----

    def set_up(self):
        place = self.place
        place.clean()
        admin = place.nodes.connect("coord", place.database["coord"], options="-c client_min_messages=error")
        for name, value in self.settings.items():
            admin.run(f"ALTER DATABASE {place.database['coord']} SET {name} = '{value}'")
        admin.run(server_sql("s", place.nodes.shard.port, place.database["shard"]))
        for node in scenarios.NODES:
            session = place.nodes.connect(node, place.database[node], options="-c client_min_messages=error")
            if node == "shard" and self.scenario.setup["third"]:
                session.run("IMPORT FOREIGN SCHEMA public FROM SERVER third INTO public")
            if node == "coord":
                if "no import" not in self.scenario.options:
                    session.run("IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public")
            for sql in scenarios.statements(place.fill_in(self.scenario.setup[node])):
                try:
                    session.run(sql)
                except Lost as lost:
                    raise scenarios.Malformed(f"{self.scenario.name}, set-up of {node}: {sql}\n{lost}") from None
            session.close()
        admin.close()

    def open(self, name):
        node, user, parameters = self.scenario.sessions[name]
        words = dict(word.split("=", 1) for word in self.place.fill_in(parameters).split())
        self.clients[name] = Client(self.place.nodes.server[node].port, self.place.database[node],
                                    self.place.fill_in(user), **words)

    # ---- whom a session waits for ----

    def waits(self):
        """What each session of ours waits for: name -> (identity of the wait, seconds, names)."""
        databases = ", ".join(f"'{name}'" for name in set(self.place.database.values()))
        backends = {}
        for node in ("coord", "shard"):
            for pid, leader, port, since, seconds, blockers in self.place.observer(node).rows(WAITS % databases):
                known = backends.setdefault((node, int(pid)), [int(leader), int(port), "", -1.0, set()])
                if since:
                    known[2:] = [since, float(seconds), {(node, int(blocker)) for blocker in blockers.split()}]
        owner = {}
        for name, client in self.clients.items():
            node = self.scenario.sessions[name][0]
            owner["shard" if node == "third" else node, client.pid] = name
        todo = list(owner)
        while todo:
            ports = outgoing_ports({pid for _, pid in todo})
            found = []
            for key, (leader, port, *_) in backends.items():
                if key in owner:
                    continue
                for node, pid in todo:
                    if (node, leader) == (key[0], pid) or port in ports[pid]:
                        owner[key] = owner[node, pid]
                        found.append(key)
                        break
            todo = found
        result = {}
        for key, (_, _, since, seconds, blockers) in backends.items():
            if since and key in owner:
                names = {owner.get(blocker, "somebody") for blocker in blockers}
                if names and seconds >= (result[owner[key]][1] if owner[key] in result else 0):
                    result[owner[key]] = ((key, since), seconds, sorted(names))
        return result

    # ---- steps ----

    def start(self, name, doing):
        client = self.clients[name]
        client.lines = []
        self.doing[name] = doing
        client.query(self.fill_in(doing.todo.pop(0)), doing.step.ordered, doing.step.quiet, doing.step.copy_data, doing.step.portion)
        if client.ordered or re.search(r"\bORDER BY\b(?!.*\))", doing.step.text, re.S | re.I):
            client.ordered = True

    def fill_in(self, text):
        text = self.place.fill_in(text)
        return re.sub(r"@pid:(\w+)@", lambda match: str(self.clients[match[1]].pid), text)

    def pump(self, seconds):
        """Take in what comes within so many seconds; False if nothing did."""
        alive = [client for client in self.clients.values() if not client.lost]
        ready = select.select(alive, [], [], seconds)[0] if alive else []
        for client in ready:
            client.read()
        self.go_on()
        return bool(ready)

    def go_on(self):
        """Go on with steps of several statements, and end those that are done."""
        for name, doing in list(self.doing.items()):
            client = self.clients[name]
            if client.busy:
                continue
            doing.lines += client.lines
            client.lines = []
            if doing.todo and not client.lost:
                client.query(self.fill_in(doing.todo.pop(0)), client.ordered, doing.step.quiet)
            else:
                self.finish(name, client)

    def finish(self, name, client):
        doing = self.doing.pop(name)
        if doing.waited_for:
            if doing.until is None:
                doing.until = TIMEOUTS.get(client.sqlstate) or (f"step {self.current}" if self.current != doing.number else "it was given up")
            doing.lines.insert(0, f"waits for {', '.join(doing.waited_for)} until {doing.until}")

    def settle(self, need=None):
        """Wait until every step under way has ended or waits for a lock; the session need, until it has ended."""
        since = time.monotonic()
        patience = 0.03
        while self.doing:
            if self.pump(patience) and time.monotonic() - since < LIMIT:
                continue
            patience = min(patience * 1.5, 0.2)
            if need is not None and need not in self.doing:
                need = None
            if not self.doing:
                break
            if time.monotonic() - since < 0.05:
                continue
            waits = self.waits()
            self.pump(0)
            blocked = set()
            for name, doing in self.doing.items():
                wait, seconds, names = waits.get(name, (None, 0, None))
                if wait and seconds >= BLOCKED_SECONDS:
                    blocked.add(name)
                    if wait != doing.wait:
                        doing.wait = wait
                        doing.waited_for = [*(doing.waited_for or []), *(n for n in names if n not in (doing.waited_for or []))]
            if need is None and blocked == set(self.doing):
                break
            if time.monotonic() - since > LIMIT:
                self.give_up(need)

    def give_up(self, need):
        """Cancel what has taken too long, and end what does not listen to that."""
        names = [need] if need in self.doing else list(self.doing)
        for name in names:
            doing, client = self.doing[name], self.clients[name]
            doing.until = "it was given up" if doing.waited_for else None
            doing.lines.append(f"does not answer within {LIMIT} s")
            cancel(client.port, client.key)
        if self.given(names, 3):
            return
        for name in names:
            if name in self.doing:
                self.doing[name].lines.append("does not answer a cancel")
                node = self.scenario.sessions[name][0]
                self.place.observer(node).run(f"SELECT pg_terminate_backend({self.clients[name].pid})")
        if self.given(names, 3):
            return
        for name in names:
            if name in self.doing:
                self.doing[name].lines.append("does not answer pg_terminate_backend")
                client = self.clients[name]
                client.lost, client.busy = True, False
                client.sock.close()
        self.pump(0)

    def given(self, names, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(name in self.doing for name in names):
            self.pump(0.1)
        return not any(name in self.doing for name in names)

    def go(self):
        """Run all of it; returns the lines of what happened."""
        self.set_up()
        for self.current, step in enumerate(self.scenario.steps, 1):
            doing = Doing(self.current, step, list(step.statements))
            self.steps.append(doing)
            if step.session == "sleep":
                end = time.monotonic() + float(step.text)
                while time.monotonic() < end:
                    self.pump(max(0, end - time.monotonic()))
                continue
            if step.session == "replay":
                self.place.nodes.replay()
                continue
            if step.session in self.doing and step.text != "cancel":
                self.settle(step.session)
            if step.text in ("connect", "disconnect", "cancel"):
                self.do_connection(step.session, step.text, doing)
                continue
            try:
                if step.session not in self.clients:
                    self.open(step.session)
            except Lost as lost:
                doing.lines.append(str(lost))
                continue
            if self.clients[step.session].lost:
                doing.lines.append("no connection")
                continue
            self.start(step.session, doing)
            self.settle(step.session if step.to_the_end else None)
            if step.waits and not doing.waited_for:
                self.remarks.append(f"step {self.current} is said to wait, and does not")
            if doing.waited_for and not step.waits and not step.to_the_end:
                self.remarks.append(f"step {self.current} is not said to wait, and does")
        self.current += 1
        if self.doing:
            self.settle()
            for name in list(self.doing):
                if name in self.doing:
                    self.settle(name)
        self.note_use()
        return self.text()

    def do_connection(self, name, what, doing):
        if what == "cancel":
            cancel(self.clients[name].port, self.clients[name].key)
            self.settle(name)
            return
        if name in self.clients:
            self.clients.pop(name).close()
        if what == "connect":
            try:
                self.open(name)
            except Lost as lost:
                doing.lines.append(str(lost))

    def note_use(self):
        """How rows travelled: for the reader of a failure, not compared."""
        total = [0, 0, 0]
        for name, client in self.clients.items():
            if self.scenario.sessions[name][0] != "coord" or client.lost or client.busy:
                continue
            try:
                if client.status != "I":
                    client.run("ROLLBACK")
                client.run("SET statement_timeout = '60s'")
                found = client.rows("SELECT coalesce(sum(scans), 0), coalesce(sum(streams), 0), coalesce(sum(fallbacks), 0) FROM exchange.pg_stat_exchange")
                total = [a + int(b) for a, b in zip(total, found[0])]
            except Lost:
                continue
        self.used = "scans {}, streams {}, fallbacks {}".format(*total)
        self.scans = total[0]

    def text(self):
        lines = []
        for doing in self.steps:
            step = doing.step
            lines.append(f"-- {doing.number} {step.session}: " + " ".join(step.text.split()))
            lines += "\n".join(doing.lines).split("\n") if doing.lines else []
        return self.place.blur("\n".join(lines)).split("\n")

    def close(self):
        for client in self.clients.values():
            client.close()
