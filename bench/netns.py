"""Network namespaces, and links of limited speed between them, on one machine (needs root).

A namespace lives as long as the process that holds it, and that one ends with this script, however
it ends: nothing has a name, and nothing stays behind. Servers run in one by Server(…, namespace=…);
psql still reaches them, by their Unix socket."""
import contextlib
import os
import subprocess
import time

from harness import Failure


class Namespace:
    """A network namespace with its loopback up."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"],
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        self.path = f"/proc/{self.holder.pid}/ns/net"
        for _ in range(200):
            with contextlib.suppress(OSError):
                if self.holder.poll() is None and os.readlink(self.path) != os.readlink("/proc/self/ns/net"):
                    break
            time.sleep(0.01)
        else:
            self.close()
            raise Failure("cannot make a network namespace")
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *command):
        """The command that runs another one in here."""
        return ["nsenter", "--net=" + self.path, *command]

    def run(self, *command):
        done = subprocess.run(self.command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)} failed in a network namespace:\n{done.stdout}")
        return done.stdout

    def close(self):
        self.holder.kill()
        self.holder.wait()


@contextlib.contextmanager
def namespaces(count):
    """So many namespaces, gone at the end. Servers in them must have been stopped, or soon be."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(Namespace())
            stack.callback(made[-1].close)
        yield made


def connect(near, far, number, mbit=None):
    """A link between two namespaces, of mbit Mbit/s each way if given. Returns the addresses of its
    ends. number (1 to 254) tells the links of one namespace apart."""
    addresses = (f"10.99.{number}.1", f"10.99.{number}.2")
    near.run("ip", "link", "add", f"link{number}", "type", "veth", "peer", "name", f"link{number}", "netns", str(far.holder.pid))
    for namespace, address in zip((near, far), addresses):
        namespace.run("ip", "address", "add", address + "/24", "dev", f"link{number}")
        namespace.run("ip", "link", "set", f"link{number}", "up")
    if mbit:
        shape(near, far, number, mbit)
    return addresses


def shape(near, far, number, mbit):
    """Limit a link to mbit Mbit/s each way, from now on; None for as fast as the machine is."""
    for namespace in (near, far):
        if mbit:
            # The queue holds 50 ms, as a switch would; the burst has to hold a packet of 64 kB.
            namespace.run("tc", "qdisc", "replace", "dev", f"link{number}", "root", "tbf",
                          "rate", f"{mbit}mbit", "burst", "128kb", "latency", "50ms")
        elif "tbf" in namespace.run("tc", "qdisc", "show", "dev", f"link{number}"):
            namespace.run("tc", "qdisc", "del", "dev", f"link{number}", "root")


def why_not():
    """Why there are no namespaces to be had here; None if there are."""
    if os.getuid() != 0:
        return "network namespaces need root"
    try:
        with namespaces(2) as (near, far):
            connect(near, far, 1, 100)
    except (Failure, OSError) as failure:
        return str(failure).replace("\n", " ")
    return None
