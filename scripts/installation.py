"""Other installations of PostgreSQL, made of links to the one in use, with other files of pg_exchange."""
import contextlib
import glob
import os
import shutil
import subprocess

import harness


def copy_installation(work, name="copy"):
    """PostgreSQL finds its files beside its programs: so a copy of these, with links to the rest, is another installation.

    Returns its pg_config, for $PG_CONFIG."""
    root = os.path.join(work, name)
    for what in ("bindir", "pkglibdir", "sharedir"):
        source = harness.pg_config(what)
        target = root + source
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copytree(source, target, copy_function=shutil.copy2 if what == "bindir" else os.symlink)
    return os.path.join(root + harness.pg_config("bindir"), "pg_config")


@contextlib.contextmanager
def installed(pg_config):
    """Let harness use another installation."""
    before = os.environ.get("PG_CONFIG")
    os.environ["PG_CONFIG"] = pg_config
    try:
        yield
    finally:
        del os.environ["PG_CONFIG"]
        if before:
            os.environ["PG_CONFIG"] = before


def extension_files(pg_config):
    """pg_exchange's files of an installation."""
    with installed(pg_config):
        lib, share = harness.pg_config("pkglibdir"), harness.pg_config("sharedir")
    return [lib + "/pg_exchange.so"] + glob.glob(share + "/extension/pg_exchange*")


def replace_extension(pg_config, files):
    """Put these files of pg_exchange there in place of those that are there.

    Each is replaced at once, as packages do it: a session that loads the library meanwhile gets the old one or the new one."""
    with installed(pg_config):
        folders = harness.pg_config("pkglibdir"), harness.pg_config("sharedir") + "/extension"
    kept = {os.path.basename(path) for path in files}
    for path in files:
        target = os.path.join(folders[0] if path.endswith(".so") else folders[1], os.path.basename(path))
        shutil.copy2(path, target + ".new")
        os.rename(target + ".new", target)
    for path in extension_files(pg_config):
        if os.path.basename(path) not in kept:
            os.unlink(path)


def build(work, commit):
    """pg_exchange of a commit, built by its own Makefile for the PostgreSQL in use; its files."""
    tree = os.path.join(work, "build." + commit)
    os.mkdir(tree)
    root = harness.ROOT
    archive = subprocess.Popen(["git", "-C", root, "archive", commit], stdout=subprocess.PIPE)
    subprocess.check_call(["tar", "-x", "-C", tree], stdin=archive.stdout)
    if archive.wait() != 0:
        raise harness.Failure(f"git archive {commit} failed")
    env = {**os.environ, "PG_CONFIG": harness.find_pg_config()}
    env.pop("MAKEFLAGS", None)
    made = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "with_llvm=no", "all"], cwd=tree, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if made.returncode != 0:
        raise harness.Failure(f"{commit} cannot be built:\n{made.stdout[-5000:]}")
    return [tree + "/pg_exchange.so", tree + "/pg_exchange.control", *glob.glob(tree + "/pg_exchange--*.sql")]
