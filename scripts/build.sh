#!/usr/bin/env bash
# Install what is missing, build with strict warnings and install into the system's PostgreSQL:
# the common first step of check, demo and bench. Starts no server.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_deps.sh
PG_CONFIG=$(python3 bench/harness.py pg_config)
make=(make WERROR=1 with_llvm=no "PG_CONFIG=$PG_CONFIG")

# Objects of a build with other options, or against another PostgreSQL, are not ours.
stamp="$("$PG_CONFIG" --version --configure) WERROR=1 ${COPT:-} $(cc --version | head -n 1)"
if [ "$(cat .build-stamp 2>/dev/null)" != "$stamp" ]; then
	"${make[@]}" -s clean
	echo "$stamp" >.build-stamp
fi
"${make[@]}" -s -j "$(getconf _NPROCESSORS_ONLN)" all

if [ -w "$("$PG_CONFIG" --pkglibdir)" ] && [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
	"${make[@]}" -s install
elif command -v sudo >/dev/null; then
	sudo "${make[@]}" -s install
else
	echo "build: cannot write to $("$PG_CONFIG" --pkglibdir): run as root, or install sudo" >&2
	exit 1
fi
