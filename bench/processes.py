"""What the processes of a server take of this machine, from /proc."""
import glob
import os
import re
import threading


def backends(server, database):
    """Process ids of the sessions of databases whose names match."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as stat:
                if int(stat.read().rpartition(")")[2].split()[1]) != \
                        server.pid:
                    continue
            with open(os.path.dirname(path) + "/cmdline", encoding="utf-8",
                      errors="replace") as line:
                if re.match(rf"postgres: \S+ {database} ", line.read()):
                    found.append(int(path.split("/")[2]))
        except (OSError, ValueError):
            continue    # it ended just now
    return found


def memory(pid):
    """Bytes of a process that nobody else has, and its proportional share of
    all that it has, shared memory included: (private, pss)."""
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as rollup:
        for line in rollup:
            words = line.split()
            if len(words) == 3 and words[2] == "kB":
                found[words[0]] = int(words[1]) * 1024
    return (found["Private_Clean:"] + found["Private_Dirty:"],
            found["Pss:"])


def anonymous(pid):
    """Bytes that a process has allocated; 0 if it has ended. Cheaper than
    memory(), and pages that it shares with its parent count, too."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return int(re.search(r"^RssAnon:\s+(\d+)", status.read(),
                                 re.M)[1]) * 1024
    except (OSError, TypeError):
        return 0


class Peak(threading.Thread):
    """The most private memory that a process had, until it is told to stop."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.done = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.01):
            self.most = max(self.most, memory(self.pid)[0])

    def stop(self):
        self.done.set()
        self.join()
        return self.most
