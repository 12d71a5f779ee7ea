#!/usr/bin/env bash
# The unit tests on a big-endian machine: cross-compiled for s390x and run by qemu's user-mode emulation.
# Servers there fall back (README.md), but what is on the wire must be read alike everywhere.
#
# Needs the compiler and qemu (installed through apt if missing) and Debian's s390x headers and libraries,
# which are unpacked into a temporary folder. What cannot be had skips all, with the reason. The last line
# is "N passed, N failed", with ", N skipped" where there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
major=17 suite=trixie mirror=http://deb.debian.org/debian
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
triplet=s390x-linux-gnu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
	echo "skipped: $1"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

find_tools() {
	emulator=$(command -v qemu-s390x-static || command -v qemu-s390x) && command -v $triplet-gcc >/dev/null && [ -e $keyring ]
}
find_tools || scripts/install_deps.sh gcc-$triplet libc6-dev-s390x-cross qemu-user-static debian-archive-keyring ||
	skip "no compiler for s390x, or no emulator"
find_tools || skip "no compiler for s390x, or no emulator"

# An apt of our own, for another architecture than the machine's; it unpacks and installs nothing.
mkdir -p "$work"/{lists,cache/archives}/partial "$work/root"
echo "deb [arch=s390x signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
: >"$work/status"
apt() {
	apt-get -qq -o Dir::Etc::sourceparts=/dev/null -o "Dir::Etc::sourcelist=$work/sources.list" \
		-o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache" \
		-o APT::Architecture=s390x -o APT::Architectures=s390x -o APT::Sandbox::User=root "$@"
}
echo "fetching PostgreSQL $major, lz4 and zstd for s390x"
(cd "$work" && apt update && apt download libpq-dev postgresql-server-dev-$major liblz4-dev libzstd-dev) ||
	skip "no packages for s390x"
for deb in "$work"/*.deb; do dpkg -x "$deb" "$work/root"; done

# What test/unit/Makefile asks pg_config, which is an s390x program itself.
cat >"$work/pg_config" <<END
#!/bin/sh
case \$1 in
	--includedir-server) echo "$work/root/usr/include/postgresql/$major/server" ;;
	--includedir) echo "$work/root/usr/include/postgresql" ;;
	--pkglibdir | --libdir) echo "$work/root/usr/lib/postgresql/$major/lib" ;;
	*) exit 1 ;;
esac
END
chmod +x "$work/pg_config"

# A copy, as the objects are another machine's.
cp -r src test "$work/"
rm -rf "$work/test/unit/build"
root=$work/root/usr
status=0
make -s -C "$work/test/unit" check PG_CONFIG="$work/pg_config" CC=$triplet-gcc EMULATOR="$emulator" \
	CFLAGS="-O2 -g -static -idirafter $root/include -L$root/lib/$triplet" </dev/null 2>&1 | tee "$work/log" || status=$?

passed=$(grep -c '^ok ' "$work/log" || true)
failed=$(grep -c '^not ok ' "$work/log" || true)
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ] || [ "$passed" -eq 0 ]; then
	echo "FAILED: make check ended with status $status"
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
