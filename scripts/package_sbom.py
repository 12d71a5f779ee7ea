"""What a package is made of: the document that scripts/sbom.py prints in the root of the build, checked by SPDX's own tool."""
import json
import os

import package_common as common
import report
import roots

LINKED = {"libc6", "liblz4-1", "libpq5", "libzstd1"}


def check(root, major, deb):
    """deb: the .deb file, below root.path."""
    where = roots.RELEASES[major][0]
    path = deb[:-4] + ".spdx.json"
    status, out = root.run("sh", "-c", f"/tmp/build/pg-exchange/scripts/sbom.py {deb[len(root.path):]} 2>&1 >{path[len(root.path):]}")
    document = {}
    if status == 0:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    names = {package["name"]: package["versionInfo"] for package in document.get("packages", [])}
    report.ok(set(names) == LINKED | {f"postgresql-{major}-pg-exchange"} and all(names.values()),
              f"sbom.py names the libraries and their versions on {where}", out or json.dumps(document, indent=1))
    report.comment(", ".join(" ".join(item) for item in names.items()))
    name = f"the document is valid SPDX on {where}"
    try:
        tool = common.tool("pyspdxtools", ["spdx-tools"])
    except roots.Unavailable as reason:
        report.skip(name, reason)
        return
    status, out = common.run(tool, "-i", path)
    report.ok(status == 0 and os.path.getsize(path) > 0, name, out)
    common.keep([path])
