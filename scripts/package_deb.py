"""Debian's packages: built, linted, built once more elsewhere, installed, tried and removed (scripts/check_packages.py)."""
import filecmp
import glob
import os
import re
import shutil

import package_common as common
import package_sbom
import report
import roots

TEST_PACKAGES = ("autopkgtest", "ca-certificates")
# Whatever may leave traces in a package, twice: folder, user, umask, locale, time zone, clock, and age of the sources.
HERE = {"folder": "/tmp/build", "user": "builder", "umask": "022", "env": "LC_ALL=C.UTF-8 TZ=UTC", "clock": "", "touch": "true"}
ELSEWHERE = {"folder": "/srv/a/longer/folder", "user": "somebody", "umask": "002",
             "env": "LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 TZ=Pacific/Kiritimati", "clock": "faketime -f +400d",
             "touch": "find . -exec touch -d '3 days ago' {} +"}


def changelog_version():
    return re.match(r"[\w-]+ \((.*)-\d+\)", common.read("debian/changelog"))[1]


def build(root, how):
    """dpkg-buildpackage in the root; (status, output, the .deb files)."""
    folder = how["folder"]
    os.makedirs(root.path + folder)
    common.copy_tree(f"{root.path}{folder}/pg-exchange")
    status, out = root.run("localedef", "-i", "de_DE", "-f", "UTF-8", "de_DE.UTF-8")
    if status != 0:
        return status, out, []
    # The committed debian/control is that of Debian 12's PostgreSQL.
    status, out = common.as_builder(root, f"""
        umask {how['umask']}
        cd pg-exchange
        pg_buildext updatecontrol
        {how['touch']}
        tar -c -z -f ../pg-exchange_{changelog_version()}.orig.tar.gz --exclude=./debian .
        {how['clock']} dpkg-buildpackage -us -uc
        """, folder, how["user"], how["env"])
    return status, out, sorted(glob.glob(f"{root.path}{folder}/*.deb"))


def build_here(root, major):
    """Build and lint; the .deb files, the debug symbols' too."""
    where = roots.RELEASES[major][0]
    status, out, debs = build(root, HERE)
    mine = [path for path in debs if f"/postgresql-{major}-pg-exchange_" in path]
    if not report.ok(status == 0 and len(mine) == 1, f"dpkg-buildpackage builds one package from debian/ on {where}", out):
        return []
    _, files = root.run("sh", "-c", "dpkg --contents postgresql-*-pg-exchange_*.deb", cwd="/tmp/build")
    wanted = [f"/usr/lib/postgresql/{major}/lib/pg_exchange.so",
              *(f"/usr/share/postgresql/{major}/extension/{name}" for name in common.scripts())]
    missing = [path for path in wanted if f".{path}\n" not in files]
    report.ok(not missing, f"the package has the library and every script on {where}", f"missing: {missing}\n{files}")
    status, out = common.as_builder(root, "lintian --fail-on error --tag-display-limit 0 pg-exchange_*_*.changes", "/tmp/build")
    report.ok(status == 0, f"lintian finds no error on {where}", out)
    report.comment(out)
    if major == common.MAJOR:
        report.ok(filecmp.cmp(common.ROOT + "/debian/control", root.path + "/tmp/build/pg-exchange/debian/control", shallow=False),
                  "debian/control is what pg_buildext makes of debian/control.in")
    common.keep(mine)
    return debs


def build_elsewhere(root, major, debs):
    """The same files, whoever builds them, where and when."""
    name = f"the packages are the same, byte by byte, built elsewhere on {roots.RELEASES[major][0]}"
    status, out, others = build(root, ELSEWHERE)
    if status != 0 or [os.path.basename(path) for path in others] != [os.path.basename(path) for path in debs]:
        report.ok(False, name, out)
        return
    different = [(a, b) for a, b in zip(debs, others) if not filecmp.cmp(a, b, shallow=False)]
    detail = ""
    for a, b in different:
        for path in (a, b):
            _, out = common.run("sh", "-c", f"dpkg-deb -x {path} {path}.tree; dpkg-deb -c {path}; cd {path}.tree; "
                                            "find . -type f -exec md5sum {} +")
            detail += path + "\n" + out
    report.ok(not different, name, detail)


def install(root, major, debs):
    """Install into a clean root, run the package's own test, remove."""
    where = roots.RELEASES[major][0]
    os.makedirs(root.path + "/tmp/debs")
    for path in debs:
        if "-dbgsym" not in path:
            shutil.copy(path, root.path + "/tmp/debs")
    common.copy_tree(root.path + "/tmp/pg-exchange")
    status, out = root.run("sh", "-c", "apt-get update && apt-get install -y --no-install-recommends ./*.deb 2>&1", cwd="/tmp/debs")
    if not report.ok(status == 0, f"the package can be installed in a clean root on {where}", out):
        return
    # The roots go without /usr/share/doc.
    status, out = root.run("sh", "-c", f"""dpkg-deb --fsys-tarfile /tmp/debs/postgresql-{major}-pg-exchange_*.deb |
        tar -xO ./usr/share/doc/postgresql-{major}-pg-exchange/monitoring/queries.yaml |
        cmp - /tmp/pg-exchange/monitoring/queries.yaml 2>&1""")
    report.ok(status == 0, f"the package brings what monitoring needs on {where}", out)
    # The test depends on @: the packages of this debian/control, so it must name this major.
    status, out = root.run("sh", "-c", f"""sed -i 's/^Package: postgresql-[0-9]*-/Package: postgresql-{major}-/' \
        /tmp/pg-exchange/debian/control && autopkgtest --no-built-binaries /tmp/pg-exchange /tmp/debs/*.deb -- null 2>&1""")
    report.ok(status == 0 and re.search(r"^scan +PASS", out, re.M), f"the package's autopkgtest passes on {where}", out)
    status, out = root.run("sh", "-c", f"apt-get purge -y postgresql-{major}-pg-exchange 2>&1 && {common.NOTHING_LEFT}")
    report.ok(status == 0, f"the package leaves nothing behind when it is removed on {where}", out)


def check(work, major, quick=False):
    """All of one distribution. Built elsewhere is on one of them: it takes as long again."""
    print(f"== .deb on {roots.RELEASES[major][0]}, PostgreSQL {major}", flush=True)
    root = common.build_root(f"build-{major}", major, work)
    debs = build_here(root, major)
    if debs:
        install(roots.Root(roots.tarball("clean", major, TEST_PACKAGES, work), os.path.join(work, f"clean-{major}")), major, debs)
        shutil.rmtree(os.path.join(work, f"clean-{major}"))
        if not quick:
            package_sbom.check(root, major, next(path for path in debs if "-dbgsym" not in path))
        if not quick and major == common.MAJOR:
            build_elsewhere(root, major, debs)
