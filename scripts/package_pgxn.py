"""The bundle for PGXN: made by `make dist`, installed, loaded, tried and removed by PGXN's client (scripts/check_packages.py)."""
import json
import os
import re
import zipfile

import package_common as common
import report

MAJOR = common.MAJOR
PG_CONFIG = f"/usr/lib/postgresql/{MAJOR}/bin/pg_config"
QUICKER = {"MAKEFLAGS": "with_llvm=no"}      # bitcode takes as long as the rest


def metadata():
    """META.json against the keys that PGXN requires, and this version."""
    meta = json.loads(common.read("META.json"))
    required = ("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec")
    provides = meta.get("provides", {}).get("pg_exchange", {})
    report.ok(all(meta.get(key) for key in required) and re.fullmatch(r"\d+\.\d+\.\d+", meta["version"]) and
              meta["version"] == provides.get("version") and meta["version"].startswith(common.version() + ".") and
              os.path.exists(os.path.join(common.ROOT, provides.get("file", "missing"))),
              "META.json has what PGXN requires, and this version", json.dumps(meta, indent=1))
    return meta


def check(work):
    print("== PGXN", flush=True)
    meta = metadata()
    name = f"pg_exchange-{meta['version']}"
    root = common.build_root("pgxn", MAJOR, work)
    bundle = f"/tmp/{name}.zip"
    status, out = common.run("make", "-s", "-C", common.ROOT, "dist", f"DIST={root.path}/tmp")
    if not report.ok(status == 0 and os.path.exists(root.path + bundle), f"make dist makes {name}.zip", out):
        return
    with zipfile.ZipFile(root.path + bundle) as file:
        names = file.namelist()
        entries = [path for path in names if not path.endswith("/")]
        report.ok(all(path.startswith(name + "/") for path in names) and not [path for path in entries if path.endswith((".o", ".so"))] and
                  {f"{name}/{path}" for path in ("META.json", "README.md", "LICENSE", "Makefile", *common.scripts(),
                                                 meta["provides"]["pg_exchange"]["docfile"])} <= set(entries),
                  "the bundle has one folder of the right name, with META.json, and nothing that was built", "\n".join(names))
    common.keep([root.path + bundle])

    status, out = root.run("sh", "-c", f"pgxn install --nosudo --pg_config {PG_CONFIG} {bundle} 2>&1", env=QUICKER)
    if not report.ok(status == 0, "pgxn install builds and installs the bundle", out):
        return
    # pg_virtualenv: a server of its own, found through PGHOST and its like.
    status, out = root.run("sh", "-c", f"""exec pg_virtualenv sh -ec '
        psql -c "CREATE EXTENSION postgres_fdw"
        pgxn load --yes -d "$PGDATABASE" {bundle}
        psql -Atc "SELECT extname, extversion FROM pg_extension"
        pgxn unload --yes -d "$PGDATABASE" {bundle}
        psql -Atc "SELECT extname FROM pg_extension" | tail -n 1' 2>&1""", env=QUICKER)
    report.ok(status == 0 and f"\npg_exchange|{common.version()}\n" in out and "\npostgres_fdw\n" in out, "pgxn load and unload work", out)
    common.copy_tree(root.path + "/tmp/tree")
    status, out = common.scan(root, "/tmp/tree")
    report.ok(status == 0, "with the bundle, a scan comes by exchange", out)
    status, out = root.run("sh", "-c", f"pgxn uninstall --nosudo --pg_config {PG_CONFIG} {bundle} 2>&1 && {common.NOTHING_LEFT}", env=QUICKER)
    report.ok(status == 0, "pgxn uninstall leaves nothing behind", out)
