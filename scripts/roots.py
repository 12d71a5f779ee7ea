"""Throw-away roots: small Debian or Ubuntu systems with one PostgreSQL each, made by mmdebstrap.

For scripts/check_matrix.py and scripts/check_packages.py. A root is a tar file, kept in $PG_EXCHANGE_ROOTS if
that is set and otherwise gone with the caller's temporary folder, and unpacked anew for each run.
Commands run in it as root, in name spaces of their own for mounts, processes and IPC: whatever they
leave behind, the kernel takes away when the command has ended or the caller has died. The network is
the host's, so that servers in two roots reach each other over 127.0.0.1.

Needs root (or sudo without a password), mmdebstrap and the archives' keys; what is missing comes
through apt. What cannot be had raises Unavailable, with the reason."""
import contextlib
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT = 900   # seconds to make one root: 60 to 200 where the archive is near

DEBIAN = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
if os.uname().machine != "x86_64":
    UBUNTU = "http://ports.ubuntu.com/ubuntu-ports"

# The distribution whose own PostgreSQL is of a major version: (name, suite, components, sources). With the
# updates: early minor versions lack what later ones have been taught, in their test modules too.
RELEASES = {
    15: ("Debian 12", "bookworm", "main", [f"{DEBIAN} bookworm", f"{SECURITY} bookworm-security"]),
    16: ("Ubuntu 24.04", "noble", "main universe", [f"{UBUNTU} noble", f"{UBUNTU} noble-updates"]),
    17: ("Debian 13", "trixie", "main", [f"{DEBIAN} trixie", f"{SECURITY} trixie-security"]),
    18: ("Debian forky", "forky", "main", [f"{DEBIAN} forky"]),
    19: ("Debian experimental", "sid", "main",
         [f"{DEBIAN} sid", f"{DEBIAN} experimental"]),
}

# apt takes nothing from experimental by itself.  This has it take all that
# is built from PostgreSQL's source package, libpq too.
EXPERIMENTAL = """Package: src:postgresql-{major}
Pin: release a=experimental
Pin-Priority: 990
"""

# What scripts/install_deps.sh installs, and what scripts/check_wire.py takes from PyPI elsewhere. postgresql-server-dev-NN is unpacked instead: it depends on all
# of LLVM, for bitcode that we do not build.
TEST_PACKAGES = ("make", "gcc", "libc6-dev", "liblz4-dev", "libzstd-dev", "libpq-dev", "libipc-run-perl", "perl",
                 "python3", "python3-lz4", "python3-venv", "python3-zstandard", "iproute2", "util-linux", "pgbouncer", "ca-certificates")

# Runs in new name spaces: make a root fit for use, and enter it.
ENTER = r"""
root=$1; shift
# A mount of its own: within, one may change how mounts propagate (buildah).
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
for bind in $BINDS; do
	mkdir -p "$root${bind#*:}"
	mount --bind "${bind%%:*}" "$root${bind#*:}"
done
unset BINDS
# Not exec: the shell is process 1 here, and gathers what a killed postmaster leaves behind.
chroot "$root" "$@"
exit $?
"""
NAME_SPACES = ["unshare", "--mount", "--propagation", "private", "--pid", "--ipc", "--fork", "--kill-child", "--"]


class Unavailable(Exception):
    """Why there is no root."""


def become_root(names):
    """Start the calling script anew by sudo if it needs that; names: environment variables to keep."""
    if os.getuid() != 0:
        keep = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
        if not shutil.which("sudo") or subprocess.run(
                ["sudo", "-n", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode != 0:
            raise Unavailable("neither root nor sudo without a password")
        os.execvp("sudo", ["sudo", "-n", "env", *keep, sys.executable, *sys.argv])


@contextlib.contextmanager
def work_folder():
    """A temporary folder that users of the roots may pass through; what ran in its roots ends with this."""
    def stop(number, _frame):
        raise SystemExit(128 + number)
    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for number in signals:
        signal.signal(number, stop)
    work = tempfile.mkdtemp(prefix="pgx-roots.")
    try:
        os.chmod(work, 0o755)
        yield work
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        # The mounts were in name spaces that are gone: below work there are plain files only.
        shutil.rmtree(work, ignore_errors=True)


def run(*command, timeout=TIMEOUT, **kwargs):
    """Run a command of the host; what it prints. Unavailable, with the end of that, if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False, timeout=timeout, **kwargs)
    except OSError as failure:
        raise Unavailable(f"cannot run {command[0]}: {failure.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} did not end within {timeout} s") from None
    if done.returncode != 0:
        raise Unavailable(f"{command[0]} failed:\n" + "\n".join(done.stdout.splitlines()[-20:]))
    return done.stdout


def prepare():
    """What every root needs on this machine; Unavailable if it cannot be had."""
    if not shutil.which("mmdebstrap"):
        run(os.path.join(ROOT, "scripts", "install_deps.sh"), "mmdebstrap")
    if not shutil.which("mmdebstrap"):
        raise Unavailable("no mmdebstrap here")
    try:
        run(*NAME_SPACES, "sh", "-ec", "mount -t tmpfs tmpfs /mnt")
    except Unavailable as failure:
        raise Unavailable(f"name spaces and mounts are not allowed here: {failure}") from None


def keyring(name, work):
    """The file of an archive's keys. Ubuntu's come from Debian's archive, which vouches for them."""
    debian = "/usr/share/keyrings/debian-archive-keyring.gpg"
    if not os.path.exists(debian):
        run(os.path.join(ROOT, "scripts", "install_deps.sh"), "debian-archive-keyring")
    for path in (f"/usr/share/keyrings/{name}", f"{work}/ubuntu-keyring/usr/share/keyrings/{name}"):
        if os.path.exists(path):
            return path
    folder = f"{work}/ubuntu-keyring"
    os.makedirs(folder + "/lists/partial")
    os.makedirs(folder + "/cache/archives/partial")
    with open(folder + "/sources.list", "w", encoding="utf-8") as file:
        file.write(f"deb [signed-by={debian}] {DEBIAN} trixie main\n")
    apt = ["apt-get", "-qq", *(word for option in (
        "Dir::Etc::sourceparts=/dev/null", f"Dir::Etc::sourcelist={folder}/sources.list",
        f"Dir::State::lists={folder}/lists", f"Dir::Cache={folder}/cache", "APT::Sandbox::User=root")
        for word in ("-o", option))]
    run(*apt, "update")
    run(*apt, "download", "ubuntu-keyring", cwd=folder)
    run("dpkg", "-x", *glob.glob(folder + "/*.deb"), folder)
    return f"{folder}/usr/share/keyrings/{name}"


def tarball(name, major, include, work, unpack=()):
    """The tar file of a root with the packages include, and those of unpack without what they depend on.

    Made on first use, and anew when the packages are others than last time."""
    release, suite, components, sources = RELEASES[major]
    digest = hashlib.sha256(repr((RELEASES[major], sorted(include), sorted(unpack))).encode()).hexdigest()[:12]
    folder = os.environ.get("PG_EXCHANGE_ROOTS") or os.path.join(work, "roots")
    target = os.path.join(folder, f"{name}-{digest}.tar")
    if os.path.exists(target):
        return target
    os.makedirs(folder, exist_ok=True)
    fetch = "".join(f"apt-get -qq download {package}; dpkg -x {package}_*.deb /; rm {package}_*.deb; "
                    for package in unpack)
    partial = f"{target[:-4]}.{os.getpid()}.partial.tar"
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt",
               f"--keyring={keyring(release.split()[0].lower() + '-archive-keyring.gpg', work)}",
               # A mirror may lag behind what a testing suite calls valid: a few weeks.
               '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=Acquire::Retries "3"',
               '--aptopt=Apt::Install-Recommends "false"', "--dpkgopt=path-exclude=/usr/share/doc/*",
               "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
               '--essential-hook=mkdir -p "$1/etc/postgresql-common"',
               '--essential-hook=echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"',
               *pin(major, work), "--include=" + ",".join(include),
               f"--customize-hook=chroot \"$1\" sh -ec 'cd /tmp; {fetch}'", suite, partial,
               *(f"deb {source} {components}" for source in sources)]
    try:
        run(*command)
        os.rename(partial, target)   # only when complete
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    return target


def pin(major, work):
    """Options of mmdebstrap: what a root takes from experimental, if any."""
    if not any(source.endswith(" experimental") for source in RELEASES[major][3]):
        return []
    path = os.path.join(work, f"preferences-{major}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(EXPERIMENTAL.format(major=major))
    return ['--setup-hook=mkdir -p "$1/etc/apt/preferences.d"',
            f"--setup-hook=copy-in {path} /etc/apt/preferences.d"]


class Root:
    """One root, unpacked below a temporary folder."""

    def __init__(self, archive, path):
        self.path = path
        os.makedirs(path)
        run("tar", "-x", "-f", archive, "-C", path, "--numeric-owner", "--exclude=./dev/*", "--exclude=./proc/*")
        for name in ("resolv.conf", "hosts"):
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", f"{path}/etc/{name}")

    def popen(self, command, user=None, cwd="/", env=None, binds=(), **kwargs):
        """Start a command in the root, as root or as another of its users; kill it and all it started are gone.

        binds: (folder of the host, folder in the root) to mount."""
        if user:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]
        return subprocess.Popen(
            [*NAME_SPACES, "sh", "-ec", ENTER, "sh", self.path, "env", "-C", cwd, *command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root", "TERM": "dumb",
                 "DEBIAN_FRONTEND": "noninteractive", **(env or {}), "BINDS": " ".join(":".join(b) for b in binds)},
            **{"stdin": subprocess.DEVNULL, "text": True, "errors": "replace", **kwargs})

    def run(self, *command, **kwargs):
        """Run a command in the root; (exit status, what it printed)."""
        child = self.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kwargs)
        try:
            out, _ = child.communicate(timeout=TIMEOUT)
        except BaseException:
            child.kill()
            child.wait()
            raise
        return child.returncode, out
