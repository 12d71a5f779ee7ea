"""The container's file: built without a daemon, and what comes out tried (scripts/check_packages.py).

buildah runs in a root and isolates by chroot alone. No registry is asked: the image to build on is made of a root with
Debian's own PostgreSQL, which is laid out as in PostgreSQL's official image."""
import os
import resource

import package_common as common
import report
import roots

MAJOR = 17      # the default of the Dockerfile
BUILDAH = "buildah --storage-driver vfs --root /srv/images --runroot /srv/run"
BASE = f"localhost/postgres:{MAJOR}"
IMAGE = f"localhost/pg_exchange:{MAJOR}"
ISOLATION = "--isolation chroot --network host"
# buildah's own defaults may be more than is allowed here.
LIMITS = " ".join(f"--ulimit {name}={resource.getrlimit(number)[1]}" for name, number in (
    ("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)))


def buildah(root, script, binds=()):
    """Run a script of sh with $BUILDAH in the root; (status, output)."""
    return root.run("sh", "-ec", "exec 2>&1\n" + script, cwd="/tmp", binds=binds,
                    env={"BUILDAH_ISOLATION": "chroot"})


def check(work):
    print("== container", flush=True)
    root = roots.Root(roots.tarball("buildah", MAJOR, ("buildah", "ca-certificates", "netavark"), work), os.path.join(work, "buildah"))
    base = roots.tarball("image", MAJOR, ("ca-certificates", "postgresql"), work)
    common.copy_tree(root.path + "/tmp/pg_exchange")
    status, out = buildah(root, f"""
        container=$({BUILDAH} from scratch)
        tar -x -f /tmp/base/{os.path.basename(base)} -C "$({BUILDAH} mount $container)" --numeric-owner --exclude='./dev/*'
        {BUILDAH} config --env PATH=/usr/lib/postgresql/{MAJOR}/bin:/usr/sbin:/usr/bin:/sbin:/bin $container
        {BUILDAH} commit --rm $container {BASE}
        """, binds=[(os.path.dirname(base), "/tmp/base")])
    if status != 0:
        raise roots.Unavailable("buildah cannot make an image here:\n" + out)
    status, out = buildah(root, f"""
        {BUILDAH} build {ISOLATION} {LIMITS} --layers=false --build-arg PG_MAJOR={MAJOR} --build-arg BASE={BASE} -t {IMAGE} \\
            -f pg_exchange/packaging/Dockerfile pg_exchange""")
    if not report.ok(status == 0, "buildah builds the image of packaging/Dockerfile", out):
        return
    status, out = buildah(root, f"""
        container=$({BUILDAH} from {LIMITS} --pull-never {IMAGE})
        {BUILDAH} run {ISOLATION} $container sh -c 'find / -xdev -name "pg_exchange*" -type f; find / -xdev -name "*.o"; command -v gcc || true'
        """)
    wanted = [f"/usr/lib/postgresql/{MAJOR}/lib/pg_exchange.so",
              *(f"/usr/share/postgresql/{MAJOR}/extension/{name}" for name in common.scripts())]
    report.ok(status == 0 and sorted(line for line in out.splitlines() if line) == sorted(wanted),
              "the image has the library and every script, and no compiler", out)
    status, out = buildah(root, f"""
        container=$({BUILDAH} from {LIMITS} --pull-never {IMAGE})
        {BUILDAH} copy $container pg_exchange/debian/tests /tests/debian/tests
        {BUILDAH} run {ISOLATION} --workingdir /tests $container debian/tests/scan
        """)
    report.ok(status == 0 and "Transport: exchange" in out, "in the image, a scan comes by exchange", out)
