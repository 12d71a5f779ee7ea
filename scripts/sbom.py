#!/usr/bin/env python3
"""What a Debian package of pg_exchange is made of: scripts/sbom.py DEB prints an SPDX 2.3 document (JSON).

On the machine that built it: the versions are those of the libraries that it was built with. Each library that the
package's own one is linked to must have its licence in LICENCES. The same package gives the same document."""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid

# By Debian's binary package, and by what upstream says of the library (not of its tools and tests).
LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "liblz4-1": "BSD-2-Clause",
    "libpq5": "PostgreSQL",
    "libzstd1": "BSD-3-Clause OR GPL-2.0-only",
}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def library_path(name):
    """Where the dynamic linker finds a library."""
    for line in run("/sbin/ldconfig", "-p").splitlines():
        found = re.fullmatch(rf"\s*{re.escape(name)} \(.*\) => (.*)", line)
        if found:
            return found[1]
    sys.exit(f"sbom.py: {name} is not installed here")


def owner(path):
    """The binary package that a file belongs to. dpkg may know it by its name before /usr was merged."""
    real = os.path.realpath(path)
    for candidate in (path, real, real.removeprefix("/usr"), "/usr" + real):
        done = subprocess.run(["dpkg-query", "-S", candidate], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if done.returncode == 0:
            return re.match(r"[^:,]*", done.stdout)[0]
    sys.exit(f"sbom.py: {path} belongs to no package")


def package(name, version, supplier, licence, architecture, release, **more):
    return {
        "SPDXID": f"SPDXRef-Package-{name}", "name": name, "versionInfo": version, "supplier": supplier,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}&distro={release}"}],
        **more}


def libraries(deb, release):
    """Packages of the libraries that the package's library names as needed."""
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-x", deb, folder)
        (shared,) = run("find", folder, "-name", "pg_exchange.so").splitlines()
        needed = re.findall(r"^\s*NEEDED\s+(\S+)$", run("objdump", "-p", shared), re.M)
    result = {}
    for library in needed:
        name = owner(library_path(library))
        if name not in LICENCES:
            sys.exit(f"sbom.py: {library} is of {name}, whose licence is not in LICENCES")
        version, architecture = run("dpkg-query", "-W", "-f", "${Version} ${Architecture}\n", name).splitlines()[0].split()
        result.setdefault(name, package(name, version, "Organization: Debian", LICENCES[name], architecture, release, comment=""))
        result[name]["comment"] = (result[name]["comment"] + " " + library).strip()
    return list(result.values())


def document(deb):
    name, version, architecture, maintainer = (run("dpkg-deb", "-f", deb, field) for field in (
        "Package", "Version", "Architecture", "Maintainer"))
    with open("/etc/os-release", encoding="utf-8") as file:
        release = re.search(r'^VERSION_CODENAME="?(\w+)', file.read(), re.M)[1]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "debian", "changelog"), encoding="utf-8") as file:
        date = datetime.datetime.strptime(re.search(r"^ -- .*>  (.*)$", file.read(), re.M)[1], "%a, %d %b %Y %H:%M:%S %z")
    digest = sha256(deb)
    mine = package(name, version, "Organization: " + re.sub(r"\s*<.*", "", maintainer), "PostgreSQL", architecture, release,
                   packageFileName=os.path.basename(deb), primaryPackagePurpose="LIBRARY",
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    linked = libraries(deb, release)
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": os.path.basename(deb)[:-4],
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {"created": date.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: pg_exchange-sbom.py"]},
        "packages": [mine, *linked],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": mine["SPDXID"]},
            *({"spdxElementId": mine["SPDXID"], "relationshipType": "DYNAMIC_LINK", "relatedSpdxElement": library["SPDXID"]}
              for library in linked)],
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: sbom.py FILE.deb >FILE.spdx.json")
    json.dump(document(sys.argv[1]), sys.stdout, indent=1)
    print()


main()
