# pg_exchange: build, install and test.
#
#   make                 build (needs the packages named in README.md)
#   make install         install into the PostgreSQL that PG_CONFIG names
#   make check           install what is missing, build, install, run every test
#   make check-unit      one part of it; also check-states, -regress, -isolation, -wire, -tap, -postgres_fdw, -monitoring, -docs, -graph, -upgrade, -tpch, -cluster, -auto, -random, -aggregates, -joins, -sessions, -load, -writes, -scale
#   make check-sessions  what several sessions see (CHECK_OPTS="-v 'ddl_*'": these scenarios alone)
#   make check-load      32 clients, 2700 transactions of each (CHECK_OPTS=200: fewer, as in make check)
#   make check-write-load  16 sessions write while servers are killed, ten minutes (CHECK_OPTS=60: seconds)
#   make check-random    random queries, with and without exchanges (CHECK_OPTS="5000 7": so many, with this seed)
#   make check-aggregates  random aggregate queries over partitions and on one server (CHECK_OPTS as above)
#   make check-joins     random join queries over several servers and on one (CHECK_OPTS as above)
#   make check-writes    random writes, as frames and by postgres_fdw (CHECK_OPTS as above)
#   make check-mirrored  PostgreSQL's regression files about writing, over foreign tables (CHECK_OPTS="insert copy": these)
#   make check-rolling  nodes are upgraded from 1.0 one by one while sessions run on them (CHECK_OPTS="shard session": one way)
#   make check-sqlsmith  sqlsmith's queries (CHECK_OPTS as above)
#   make check-assert    regress, isolation and tap on a PostgreSQL with assertions, built from the distribution's source
#   make check-valgrind  regress with that PostgreSQL under valgrind (half an hour)
#   make check-matrix    build and test on PostgreSQL 15 to 19, and let them work with each other, in throw-away
#                        roots (MAJORS="17": that one alone; PG_EXCHANGE_ROOTS names a folder to keep them in)
#   make check-packages  build, install and try every package: Debian's on three releases, RPM, PGXN's, the container (CHECK_OPTS="rpm pgxn": these)
#   make check-deb       the quick part of it: the package of Debian 12, and linters
#   make check-new-user  what README.md has a new user do, in a fresh root
#   make check-big-endian  the unit tests, emulating s390x
#   make fuzz            the fuzzers of test/fuzz, with clang (TIME=3600: seconds of CPU time, TARGETS="batch chunk")
#   make coverage        which lines of the pure layers the unit tests and the fuzzers' corpus run
#   make demo            two servers, TPC-H: what scans, aggregates, joins and writes gain, in a minute (BENCH_OPTS="--rounds 5")
#   make bench           the measurement behind the claims (BENCH_OPTS="--scale 1 --runs 5")
#   make bench-suite     sizes, speed, CPU and memory by table, column and peer (BENCH_OPTS="--parts tables")
#   make bench-latency   what the extension costs the scans it leaves alone
#   make bench-parallel  whether the senders of a parallel query wait for each other
#   make bench-links     four servers behind links of 100 Mbit/s each against one (needs root)
#   make bench-auto      mode auto against the fixed modes, by data and link (needs root)
#   make bench-tpch      TPC-H over four servers against one server and postgres_fdw
#   make bench-joins     joins of tables on several servers against one server and postgres_fdw (needs root)
#   make bench-write     INSERT, COPY, UPDATE and DELETE against postgres_fdw (needs root)
#   make bench-scale     up to 256 foreign servers and 8,192 partitions against postgres_fdw: times, memory, connections
#   make bench-load      200 sessions of pgbench over four shards, also while these are killed
#   make dist            the bundle for PGXN, of what is committed (DIST=folder)
#   make pictures        doc/images: what scripts/exchange-graph makes of real EXPLAINs
#   make release         all steps of a release, up to the tag (RELEASE_OPTS=--dry-run lists them)
#   make release-check   only those that take seconds and change nothing
#   make format          clang-format over src/ and test/
#
# WERROR=1 turns on the strict warnings that the tests build with.

MODULE_big = pg_exchange
EXTENSION = pg_exchange
DATA = $(wildcard pg_exchange--*.sql)
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))

PG_CONFIG ?= pg_config
.DEFAULT_GOAL := all

# Goals that bring their own set-up. They must work before PostgreSQL is there, and PGXS has a
# `check` of its own: so PGXS is left out when one of them is asked for, and every other goal of
# that command line (make clean check) gets a make of its own.
script_goals = check check-unit check-states check-regress check-isolation check-wire check-tap check-postgres_fdw check-monitoring check-docs check-graph check-upgrade check-tpch check-cluster check-auto check-scale check-load check-random check-aggregates check-joins check-sessions check-writes check-mirrored check-write-load check-rolling check-sqlsmith check-assert check-valgrind check-matrix check-deb check-packages check-new-user check-big-endian release release-check fuzz coverage dist demo bench bench-suite bench-latency bench-parallel bench-links bench-auto bench-tpch bench-joins bench-write bench-scale bench-load pictures format
.PHONY: $(script_goals)

ifneq (,$(filter $(script_goals),$(MAKECMDGOALS)))

.NOTPARALLEL:
DIST ?= .
dist_name = pg_exchange-$(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' META.json | head -n 1)
other_goals = $(filter-out $(script_goals),$(MAKECMDGOALS))
.PHONY: $(other_goals)
$(other_goals):
	$(MAKE) $@

check:
	scripts/check.py
check-unit check-states check-regress check-isolation check-wire check-tap check-postgres_fdw check-monitoring check-docs check-graph check-upgrade check-tpch check-cluster check-auto check-scale:
	scripts/check.py $(@:check-%=%)
check-matrix:
	scripts/check_matrix.py $(TESTED:%=--tested=%) $(PHASES:%=--phases=%) $(MAJORS)
check-deb:
	scripts/check_packages.py quick
check-packages check-new-user check-big-endian check-assert check-valgrind coverage:
	$(wildcard scripts/$(subst -,_,$@).*) $(CHECK_OPTS)
release:
	scripts/release $(RELEASE_OPTS)
release-check:
	scripts/release --cheap
fuzz:
	scripts/fuzz.py $(TIME:%=--time=%) $(TARGETS)
check-load check-random check-aggregates check-joins check-sessions check-writes check-mirrored check-write-load check-rolling check-sqlsmith:
	scripts/build.sh
	scripts/$(subst -,_,$@).py $(CHECK_OPTS)
demo bench:
	scripts/build.sh
	python3 bench/$@.py $(BENCH_OPTS)
bench-suite bench-latency bench-parallel bench-links bench-auto bench-tpch bench-joins bench-write bench-scale bench-load:
	scripts/build.sh
	python3 bench/$(@:bench-%=%).py $(BENCH_OPTS)
dist:
	@git -c safe.directory='*' archive --prefix=$(dist_name)/ -o $(DIST)/$(dist_name).zip HEAD
	@echo $(DIST)/$(dist_name).zip
pictures:
	scripts/build.sh
	scripts/check_graph.py --write
format:
	@command -v clang-format >/dev/null || { echo "clang-format not found: install clang-format" >&2; exit 1; }
	find src test -name '*.[ch]' -exec clang-format -i {} +

else # a build goal: PGXS

pg_version := $(shell $(PG_CONFIG) --version 2>/dev/null)
ifeq (,$(pg_version))
$(error $(PG_CONFIG) not found: install libpq-dev and postgresql-server-dev-all (Debian/Ubuntu) or postgresql-devel (Fedora/RHEL), or set PG_CONFIG)
endif
pg_major := $(shell echo '$(word 2,$(pg_version))' | sed 's/[^0-9].*//')

PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(wildcard $(PGXS)))
$(error PostgreSQL server headers not found: install postgresql-server-dev-$(pg_major) (Debian/Ubuntu) or postgresql-devel (Fedora/RHEL))
endif

PG_CPPFLAGS = -Isrc -I$(shell $(PG_CONFIG) --includedir)
SHLIB_LINK = -lpq -llz4 -lzstd

# Our functions call each other directly. Else the dynamic linker looks for each of a thousand names
# in all libraries of the server before ours, whenever a backend or a worker loads the library.
ifeq (Linux,$(shell uname -s))
SHLIB_LINK += -Wl,-Bsymbolic
endif

# Header dependencies are ours, one .d beside each .o: those of PGXS (where it has them) are named
# by base name only, and two of our modules may have files of the same name.
override autodepend =
PG_CFLAGS = -MMD -MP
-include $(OBJS:.o=.d)

# -isystem keeps the strict warnings out of PostgreSQL's own headers. Unused parameters remain
# allowed: hooks, node callbacks and fmgr functions have signatures that PostgreSQL sets. So do
# variables that gcc thinks clobbered by longjmp: it warns of PG_TRY's own.
ifeq ($(WERROR),1)
PG_CPPFLAGS += -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS += -Wall -Wextra -Werror -Wno-unused-parameter -Wno-clobbered
endif

# Bitcode is for inlining into JITed expressions, of which we have none: do without where the
# clang that PostgreSQL was built with is missing.
pg_clang := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq (,$(shell command -v $(or $(pg_clang),clang)))
override with_llvm := no
endif

EXTRA_CLEAN = $(OBJS:.o=.d) $(OBJS:.o=.bc)

include $(PGXS)

# The loops over columns and over armour are written to be vectorised; -O2 of older compilers does not.
$(filter src/column/% src/adapt/% src/wire/armour%,$(OBJS)): override CFLAGS += -O3 -funroll-loops

# The version is decided in the control file alone.
src/library.o src/library.bc: override CPPFLAGS += -DPX_VERSION='"$(shell sed -n "s/^default_version = '\(.*\)'/\1/p" pg_exchange.control)"'
src/library.o src/library.bc: pg_exchange.control

# Say which package is missing instead of what the compiler makes of it.
.PHONY: build-deps
build-deps:
	@ok=1; need() { \
	  echo "#include <$$1>" | $(CC) $(CPPFLAGS) -E -x c -o /dev/null - 2>/dev/null || \
	  { echo "$$1 not found: install $$2 (Debian/Ubuntu) or $$3 (Fedora/RHEL)" >&2; ok=0; }; }; \
	command -v $(firstword $(CC)) >/dev/null || { echo "$(firstword $(CC)) not found: install gcc" >&2; exit 1; }; \
	need postgres.h postgresql-server-dev-$(pg_major) postgresql-devel; \
	need libpq-fe.h libpq-dev libpq-devel; \
	need lz4.h liblz4-dev lz4-devel; \
	need zstd.h libzstd-dev libzstd-devel; \
	test $$ok = 1
$(OBJS): | build-deps

endif
