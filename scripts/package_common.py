"""What the tests of the packages share (scripts/check_packages.py)."""
import os
import re
import shutil
import subprocess

import roots

ROOT = roots.ROOT
MAJOR = 15      # what is tried on one distribution only
BUILD_PACKAGES = ("build-essential", "debhelper", "devscripts", "fakeroot", "faketime", "lintian", "liblz4-dev", "libpq-dev",
                  "libzstd-dev", "locales", "postgresql-server-dev-all")
# Those of other formats have one root together: it is Debian's build root with their tools.
OTHER_PACKAGES = ("ca-certificates", "pgxnclient", "postgresql", "rpm", "rpmlint")


def build_root(name, major, work):
    """A fresh root in which the extension can be built for major."""
    packages = BUILD_PACKAGES + (OTHER_PACKAGES if major == MAJOR else ())
    return roots.Root(roots.tarball("build", major, packages, work), os.path.join(work, name))


def as_builder(root, script, cwd, user="builder", env=""):
    """Run a script of sh in the root as a user, made on first use, whom the folder then belongs to; (status, output)."""
    root.run("sh", "-c", f"id {user} || useradd --create-home {user}; chown -R {user} {cwd}")
    return root.run("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env", f"HOME=/home/{user}", f"USER={user}",
                    *env.split(), "sh", "-ec", f"exec 2>&1\n{script}", cwd=cwd)


def copy_tree(target):
    """The source tree as one would get it: what git knows, without what was built."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(
        ".git", "*.o", "*.d", "*.so", "*.bc", ".build-stamp", "__pycache__", "results", "build"))


def archive(path, prefix):
    """What is committed, as one file; its name says the format."""
    roots.run("git", "-c", "safe.directory=*", "-C", ROOT, "archive", f"--prefix={prefix}/", "-o", path, "HEAD")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r"default_version = '(.*)'", read("pg_exchange.control"))[1]


def scripts():
    """Base names of what belongs into share/extension."""
    return sorted(["pg_exchange.control", *(name for name in os.listdir(ROOT) if re.fullmatch(r"pg_exchange--.*\.sql", name))])


def scan(root, tree):
    """A server that reads from itself by exchange, in the root: the script of debian/tests; (status, output)."""
    return root.run("sh", "-c", "exec debian/tests/scan 2>&1", cwd=tree)


# In a root, after removal: fails, and prints them, if files of the extension are left in /usr.
NOTHING_LEFT = "! find /usr -name 'pg_exchange*' | grep ."


def keep(paths):
    """Copy packages into $PG_EXCHANGE_DEBS if that is set."""
    folder = os.environ.get("PG_EXCHANGE_DEBS")
    if folder:
        os.makedirs(folder, exist_ok=True)
        for path in paths:
            shutil.copy(path, folder)


def tool(command, packages):
    """The path of a command from PyPI; its packages are in a folder that is kept. Unavailable if it cannot be had."""
    cache = os.environ.get("PG_EXCHANGE_CACHE") or os.path.expanduser("~/.cache/pg_exchange")
    venv = os.path.join(cache, "packages-" + command)
    if not os.path.exists(venv + "/complete"):
        roots.run("python3", "-m", "venv", "--clear", venv)
        roots.run(venv + "/bin/pip", "install", "-q", "--disable-pip-version-check", *packages)
        roots.run("touch", venv + "/complete")
    return f"{venv}/bin/{command}"


def run(*command):
    """(exit status, what it printed) of a command of the host."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return done.returncode, done.stdout
