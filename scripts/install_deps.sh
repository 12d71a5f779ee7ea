#!/usr/bin/env bash
# Install through apt what building and testing need and this machine lacks (Debian 12, Ubuntu).
# Quick when all is there; starts no server and creates no cluster. Arguments are further packages.
set -euo pipefail
cd "$(dirname "$0")/.."

# The PostgreSQL to work with: the newest one installed, else the distribution's own.
find_major() {
	ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | cut -d/ -f5 | sort -n | tail -n 1 || true
}

if ! command -v apt-get >/dev/null; then
	# Not Debian: nothing to install with. The build says what is missing.
	command -v make >/dev/null && command -v "${PG_CONFIG:-pg_config}" >/dev/null && exit 0
	echo "install_deps.sh: no apt-get here; install make, gcc, the PostgreSQL server with its" \
		"development files, libpq, lz4, zstd, perl IPC::Run and python3 by hand" >&2
	exit 1
fi

major=$(find_major)
# A PostgreSQL of one's own, named by PG_CONFIG, is used as it is.
if [ -n "${PG_CONFIG:-}" ]; then server=(); else server=("postgresql-${major:-}" "postgresql-server-dev-${major:-}"); fi
packages=(make gcc libc6-dev liblz4-dev libzstd-dev libpq-dev libipc-run-perl perl
	python3 python3-venv iproute2 util-linux "$@")

missing() {
	local p
	for p in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || echo "$p"
	done
}

as_root=()
apt() {
	echo "install_deps.sh: apt-get $*"
	${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# Each for one test, which is skipped without it: so no failure here is an error. The packages would
# start their services, and again at every boot; they are only wanted for their programs.
install_optional() (
	PATH=$PATH:/usr/sbin
	wanted=()
	for p in pgbouncer prometheus prometheus-postgres-exporter; do
		command -v "$p" >/dev/null || ! apt-cache show "$p" >/dev/null 2>&1 || wanted+=("$p")
	done
	[ ${#wanted[@]} -gt 0 ] || exit 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || exit 0
		as_root=(sudo)
	fi
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		trap '${as_root[@]+"${as_root[@]}"} rm -f $policy' EXIT
		printf '#!/bin/sh\nexit 101\n' | ${as_root[@]+"${as_root[@]}"} tee $policy >/dev/null
		${as_root[@]+"${as_root[@]}"} chmod +x $policy
	fi
	for p in "${wanted[@]}"; do
		apt install --no-install-recommends "$p" && command -v systemctl >/dev/null &&
			${as_root[@]+"${as_root[@]}"} systemctl disable "$p"
	done
	exit 0
)

if [ -n "$major" ] || [ ${#server[@]} -eq 0 ]; then
	mapfile -t todo < <(missing "${packages[@]}" ${server[@]+"${server[@]}"})
	if [ ${#todo[@]} -eq 0 ]; then
		install_optional || true
		exit 0
	fi
fi

if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		[ -n "$major" ] || todo=("${packages[@]}" postgresql postgresql-server-dev-all)
		echo "install_deps.sh: neither root nor sudo. Run as root:" >&2
		echo "    apt-get install -y ${todo[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
apt update || echo "install_deps.sh: apt-get update failed; trying with the lists at hand" >&2

if [ -z "$major" ] && [ ${#server[@]} -gt 0 ]; then
	# A new PostgreSQL would create and start a cluster "main": keep it from doing so, and put
	# the setting back whatever happens.
	conf=/etc/postgresql-common/createcluster.conf
	apt install --no-install-recommends postgresql-common
	kept=$(mktemp)
	cp "$conf" "$kept"
	trap '${as_root[@]+"${as_root[@]}"} cp "$kept" "$conf"; rm -f "$kept"' EXIT
	trap 'exit 1' INT TERM HUP
	echo 'create_main_cluster = false' | ${as_root[@]+"${as_root[@]}"} tee -a "$conf" >/dev/null
	apt install --no-install-recommends postgresql
	major=$(find_major)
	server=("postgresql-$major" "postgresql-server-dev-$major")
fi
mapfile -t todo < <(missing "${packages[@]}" ${server[@]+"${server[@]}"})
[ ${#todo[@]} -eq 0 ] || apt install --no-install-recommends "${todo[@]}"
install_optional || true
