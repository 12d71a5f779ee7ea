"""The source of the distribution's PostgreSQL, and a server built from it as no package has it.

For scripts/check_postgres_fdw.py, check-assert and check-valgrind. The source package is that of the
installed PostgreSQL, or of its major version, fetched with an apt configuration of our own in a
temporary folder; so no deb-src line is needed in the system's. What is made of it is kept in
harness.cache_dir(): the network is needed on first use only."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

import harness

TIMEOUT = 300   # seconds for one call of apt
BUILD_TIMEOUT = 3600
CONTRIB = ("auto_explain", "citext", "hstore", "pg_stat_statements", "postgres_fdw")   # what the tests use


class Unavailable(Exception):
    """Why the source cannot be had."""


def output(command, **kwargs):
    """What a command prints; "" if it fails, or is not there."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=True, timeout=TIMEOUT, **kwargs).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def source_lists(package, folder):
    """Write the system's package sources into folder as deb-src: those that package comes from, if known."""
    uris = {uri.rstrip("/") for uri in re.findall(r"\w+://\S+", output(["apt-cache", "madison", package]))}
    texts = {}
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if path.endswith((".list", ".sources")) and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                texts[os.path.basename(path)] = file.read()
    for name, text in {n: t for n, t in texts.items() if any(u in t for u in uris)}.items() or texts.items():
        if name.endswith(".list"):
            lines = [re.sub(r"^\s*deb\s", "deb-src ", line) for line in text.splitlines() if re.match(r"\s*deb\s", line)]
        else:
            lines = [re.sub(r"^Types:.*", "Types: deb-src", line) for line in text.splitlines()]
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def numbers(version):
    return [int(n) for n in re.findall(r"\d+", version)]


def fetch_tarball(package, work):
    """The original tar file of a source package: the installed version's, else the newest that can be had."""
    if not shutil.which("apt-get"):
        raise Unavailable("no apt-get here")
    folder = tempfile.mkdtemp(prefix="apt-", dir=work)
    for name in ("sources.d", "lists/partial", "cache/archives/partial", "download"):
        os.makedirs(os.path.join(folder, name))
    source_lists(package, folder + "/sources.d")
    options = [word for option in (f"Dir::Etc::sourceparts={folder}/sources.d", "Dir::Etc::sourcelist=/dev/null",
                                   f"Dir::State::lists={folder}/lists", f"Dir::Cache={folder}/cache",
                                   "APT::Sandbox::User=root") for word in ("-o", option)]
    output(["apt-get", "-qq", *options, "update"])   # lists of another origin may fail: go on with what came
    lines = output(["apt-cache", *options, "madison", package]).splitlines()
    versions = {line.split("|")[1].strip() for line in lines if line.endswith("Sources")}
    installed = output(["dpkg-query", "-W", "-f", "${Version}", package])
    for version in sorted(versions, key=lambda v: (v == installed, numbers(v)), reverse=True):
        print(f"# fetching the source of {package} {version}", flush=True)
        output(["apt-get", "-qq", *options, "source", "--download-only", "--tar-only", f"{package}={version}"],
               cwd=folder + "/download")
        tarballs = glob.glob(folder + "/download/*.orig.tar.*")
        if tarballs:
            return tarballs[0]
    raise Unavailable(f"no version of the source package {package} can be had" if versions else
                      f"no source package {package} is listed")


def cached_files(work, name, pattern, needed):
    """Folder in harness.cache_dir() with files of the source of this major version, fetched on first use: those whose path in
    the tar file is pattern, whose group 1 is the path in the folder. One of them is needed."""
    target = os.path.join(harness.cache_dir(), name)
    if os.path.isdir(target):
        return target
    tarball = fetch_tarball(f"postgresql-{numbers(harness.pg_config('version'))[0]}", work)
    os.makedirs(harness.cache_dir(), exist_ok=True)
    # Renamed when complete: an interrupted run leaves nothing that looks finished.
    partial = tempfile.mkdtemp(prefix="partial-", dir=harness.cache_dir())
    try:
        with tarfile.open(tarball) as archive:
            for member in archive:
                found = re.fullmatch(pattern, member.name)
                if found and member.isfile():
                    path = os.path.join(partial, found[1])
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        shutil.copyfileobj(archive.extractfile(member), file)
        if not os.path.exists(os.path.join(partial, needed)):
            raise Unavailable(f"{os.path.basename(tarball)} has no {needed}")
        os.chmod(partial, 0o755)
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


# Assertions are on, and palloc tells valgrind what it does.
CONFIGURE = ("--enable-cassert", "--enable-debug", "--enable-tap-tests", "--with-libxml", "--with-icu", "--without-readline",
             "--without-zlib", "CFLAGS=-O1 -g", "CPPFLAGS=-DUSE_VALGRIND")
PACKAGES = ("bison", "flex", "libicu-dev", "libxml2-dev", "pkg-config", "valgrind")


def build(folder, prefix):
    """Configure, build and install a PostgreSQL with what our tests use of it."""
    log = os.path.join(folder, "build.log")
    jobs = f"-j{os.cpu_count()}"
    # A make that was called by ours would take itself for a part of a build, and leave out headers.
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG") and k not in ("MAKEFLAGS", "MAKELEVEL")}
    with open(log, "w", encoding="utf-8") as output_file:
        for command in (["./configure", "--prefix=" + prefix, *CONFIGURE], ["make", "-s", jobs, "all"], ["make", "-s", "install"],
                        *(["make", "-s", jobs, "-C", "contrib/" + name, "install"] for name in CONTRIB)):
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output_file, stderr=subprocess.STDOUT,
                                  env=env, check=False, timeout=BUILD_TIMEOUT)
            if done.returncode != 0:
                with open(log, encoding="utf-8", errors="replace") as lines:
                    raise harness.Failure(f"{' '.join(command)} failed:\n" + "".join(lines.readlines()[-30:]))
    shutil.copy(folder + "/src/tools/valgrind.supp", prefix)


def checked_server(work):
    """Folder in work with a PostgreSQL of the installed major version, built on first use as CONFIGURE says; with PostgreSQL's
    valgrind.supp. Raises Failure if it cannot be had."""
    subprocess.check_call([harness.ROOT + "/scripts/install_deps.sh", *PACKAGES])
    major = numbers(harness.pg_config("version"))[0]
    options = hashlib.sha256(" ".join(CONFIGURE).encode()).hexdigest()[:12]
    target = os.path.join(harness.cache_dir(), f"postgresql-{major}-checked-{options}")
    if not os.path.isdir(target):
        try:
            tarball = fetch_tarball(f"postgresql-{major}", work)
        except Unavailable as reason:
            raise harness.Failure(str(reason)) from None
        os.makedirs(harness.cache_dir(), exist_ok=True)
        # Renamed when complete: an interrupted run leaves nothing that looks finished.
        partial = tempfile.mkdtemp(prefix="partial-", dir=harness.cache_dir())
        try:
            print(f"# building {os.path.basename(tarball)} with {' '.join(CONFIGURE)}", flush=True)
            with tarfile.open(tarball) as archive:
                archive.extractall(partial + "/source")
            build(glob.glob(partial + "/source/*")[0], partial + "/server")
            os.rename(partial + "/server", target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    # Where the user that servers run as gets to; PostgreSQL finds its files wherever it is.
    copy = os.path.join(work, "postgresql")
    shutil.copytree(target, copy, symlinks=True)
    return copy


def environment(prefix):
    """For scripts/check.py: to use the PostgreSQL in prefix."""
    return {**os.environ, "PG_CONFIG": prefix + "/bin/pg_config", "LD_LIBRARY_PATH": prefix + "/lib"}
