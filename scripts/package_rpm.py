"""The RPM: built from what is committed, its files looked at, installed and tried (scripts/check_packages.py).

Debian's rpmbuild makes it, for Debian's PostgreSQL: the command line says where that keeps its files. The packages that
the spec requires have the names of other distributions: they are not looked for (--nodeps)."""
import glob
import os

import package_common as common
import report

MAJOR = common.MAJOR
LIB = f"/usr/lib/postgresql/{MAJOR}"
SHARE = f"/usr/share/postgresql/{MAJOR}"
DEFINES = f"--define 'pgmajorversion {MAJOR}' --define 'pginstdir {LIB}' --define 'pgsharedir {SHARE}'"


def lint(root):
    """The spec as it is, for yum.postgresql.org's PostgreSQL."""
    status, out = root.run("rpmlint", "packaging/pg_exchange.spec", cwd="/tmp/tree")
    report.ok(status == 0, "rpmlint finds no error in pg_exchange.spec", out)
    status, out = root.run("rpmspec", "--define", "pgmajorversion 17", "-P", "packaging/pg_exchange.spec", cwd="/tmp/tree")
    report.ok(status == 0 and f"Version:        {common.version()}" in out and "\n/usr/pgsql-17/share/extension/pg_exchange.control\n" in out,
              "rpmspec reads pg_exchange.spec, and finds this version and yum.postgresql.org's folders", out)


def build(root):
    """The path of the RPM in the root; None if there is none."""
    folder = "/tmp/rpm"
    os.makedirs(root.path + folder + "/SOURCES")
    prefix = f"pg_exchange-{common.version()}"
    common.archive(f"{root.path}{folder}/SOURCES/{prefix}.tar.gz", prefix)
    status, out = common.as_builder(root, f"""tar -xzf SOURCES/{prefix}.tar.gz {prefix}/packaging/pg_exchange.spec
        rpmbuild -ba --nodeps --define '_topdir {folder}' {DEFINES} {prefix}/packaging/pg_exchange.spec""", folder)
    rpms = [path[len(root.path):] for path in glob.glob(f"{root.path}{folder}/RPMS/*/pg_exchange_{MAJOR}-{common.version()}-*.rpm")]
    sources = glob.glob(f"{root.path}{folder}/SRPMS/*.src.rpm")
    if not report.ok(status == 0 and len(rpms) == 1 and len(sources) == 1,
                     "rpmbuild builds the RPM and its source RPM from what is committed", out):
        return None
    common.keep([root.path + rpms[0], *sources])
    return rpms[0]


def files(root, rpm):
    status, out = root.run("rpm", "-qpl", rpm)
    wanted = [LIB + "/lib/pg_exchange.so", *(f"{SHARE}/extension/{name}" for name in common.scripts())]
    got = [path for path in out.splitlines() if path.startswith((LIB, SHARE)) and "/.build-id" not in path]
    report.ok(status == 0 and sorted(got) == sorted(wanted) and "/README.md\n" in out and "/LICENSE\n" in out,
              "the RPM has the library, every script, the documentation and the licence, and nothing else", out)
    status, out = root.run("rpm", "-qpR", rpm)
    report.ok(status == 0 and all(name in out for name in ("libpq.so.5", "liblz4.so.1", "libzstd.so.1", f"postgresql{MAJOR}-server")),
              "the RPM requires the server and the libraries", out)


def install(root, rpm):
    # Debian's rpm wants to be told that one knows what one does.
    status, out = root.run("sh", "-c", f"rpm -i --nodeps --force-debian {rpm} 2>&1")
    if report.ok(status == 0, "the RPM can be installed", out):
        status, out = common.scan(root, "/tmp/tree")
        report.ok(status == 0, "with the RPM, a scan comes by exchange", out)
        status, out = root.run("sh", "-c", f"rpm -e --nodeps --force-debian pg_exchange_{MAJOR} 2>&1 && {common.NOTHING_LEFT}")
        report.ok(status == 0, "the RPM leaves nothing behind when it is removed", out)


def check(work):
    print("== RPM", flush=True)
    root = common.build_root("rpm", MAJOR, work)
    common.copy_tree(root.path + "/tmp/tree")
    lint(root)
    rpm = build(root)
    if rpm:
        files(root, rpm)
        install(root, rpm)
