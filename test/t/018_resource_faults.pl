# What runs out, or is taken away: connections, disk, files, time of a session,
# privileges. Where postgres_fdw would still give the rows, so do we; else there
# is one error, the next query works, and nothing is left behind.
use strict;
use warnings;

use OwnNamespaces;
use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $shard = new_shard('shard', conf => "max_connections = 12\nsuperuser_reserved_connections = 2\n");
$shard->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	CREATE VIEW big AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 50000) i;
	CREATE VIEW sorted AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 50000) i ORDER BY md5(i::text);
	CREATE TABLE spread AS SELECT i AS id, repeat('x', 200) AS filler FROM generate_series(1, 40000) i;
	CREATE TABLE written (id int);
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
	GRANT INSERT ON written TO reader;
	ANALYZE});
my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'reader', password_required 'false');
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE events_too (id int, name text) SERVER shard OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE big (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE sorted (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE spread (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE written (id int) SERVER shard;
	CREATE FUNCTION write_now() RETURNS boolean LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO written VALUES (1); RETURN true; END$$;
	CREATE FUNCTION write_there(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
		$$BEGIN RETURN write_now(); END$$;
	CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 3) i;
	SET pg_exchange.enabled = off;
	ANALYZE events, spread, few});

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM events OFFSET 0) x;';
my $rows = '20000|200010000';
my $drained = 'SELECT count(filler) FROM (SELECT id, filler FROM big OFFSET 0) x WHERE CASE WHEN id = 1 THEN write_there(id) ELSE true END;';
my $gate = make_gate($coordinator);

my $session;
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub begin_session
{
	$session->quit if $session;
	$shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader'}) or die 'sessions stay';
	$session = open_session($coordinator);
	ask('\set VERBOSITY verbose');
	return ask('SELECT pg_backend_pid();');
}
sub transport { return label('Transport', ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;')); }
sub no_temporary_files
{
	my ($name) = @_;
	return is_deeply([ map { glob($_->data_dir . '/base/pgsql_tmp/*') } $shard, $coordinator ], [], "$name: no temporary file is left");
}
sub goes_on
{
	my ($name) = @_;
	is(ask($scan), $rows, "$name: the next query works");
	is($session->{stderr}, '', "$name: there is no error");
	is(transport(), 'exchange v1, stream', "$name: the rows come by exchange");
	no_temporary_files($name);
	ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
		WHERE usename = 'reader' AND state <> 'idle'}), "$name: nothing is left running");
	is_deeply([ glob($shard->data_dir . '/pg_snapshots/*') ], [], "$name: no snapshot is left");
	return;
}

# ---- connections ------------------------------------------------------------

# All that the shard has are taken, but for the one of postgres_fdw.
begin_session();
ask("SET pg_exchange.enabled = off; $scan RESET pg_exchange.enabled");
my @takers;
for (1 .. 9)
{
	push @takers, $shard->background_psql('postgres', extra_params => [ '-U', 'reader' ]);
}
is(ask($scan), $rows, 'remote out of connections: all rows come');
is($session->{stderr}, '', 'remote out of connections: there is no error');
like(transport(), qr/^exchange v1, session \(could not connect: .*(too many clients already|remaining connection slots)/, 'remote out of connections: EXPLAIN says why');
is(ask('SET pg_exchange.slices = 4; SELECT count(*) FROM (SELECT * FROM spread OFFSET 0) x; RESET pg_exchange.slices'), 40000,
	'remote out of connections: all rows of slices come, too');
my $other = open_session($coordinator);
$other->query('\set VERBOSITY verbose');
$other->query($scan);
like($other->{stderr}, qr/ERROR:  08001: could not connect to server "shard"/, "remote out of connections: where postgres_fdw has none, the query ends with its error");

# Some are free again, but not as many as are wanted.
(shift @takers)->quit for 1 .. 2;
$shard->poll_query_until('postgres', q{
	SELECT count(*) = 7 FROM pg_stat_activity WHERE usename = 'reader' AND application_name NOT IN ('pg_exchange', 'postgres_fdw')});
is(ask('SET pg_exchange.slices = 8; SET pg_exchange.max_connections_per_server = 8; SELECT count(*), sum(id) FROM (SELECT * FROM spread OFFSET 0) x'),
	'40000|800020000', 'remote nearly out of connections: all rows of many slices come');
is($session->{stderr}, '', 'remote nearly out of connections: there is no error');
ask('RESET pg_exchange.slices; RESET pg_exchange.max_connections_per_server');
$_->quit for @takers;
is($other->query($scan), $rows, 'when connections are free again, the session that had failed works');
$other->quit;
goes_on('connections are free again');

# ---- files of the coordinator's backend -----------------------------------------

# Of these it may have some for connections, then it has to do with fewer streams.
{
	my $node = $coordinator;
	$node->append_conf('postgresql.conf', 'max_files_per_process = 75');
	$node->restart;
	$session = undef;
	$gate = open_session($coordinator);
	$shard->append_conf('postgresql.conf', 'max_connections = 60');
	$shard->restart;
	begin_session();
	ask('SET pg_exchange.slices = 40; SET pg_exchange.max_connections_per_server = 40');
	is(ask('SELECT count(*), sum(id) FROM (SELECT * FROM spread OFFSET 0) x'), '40000|800020000', 'out of files: all rows come');
	is($session->{stderr}, '', 'out of files: there is no error');
	my $streams = $shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange'});
	cmp_ok($streams, '>', 2, 'out of files: there are some streams');
	cmp_ok($streams, '<', 40, 'out of files: there are fewer streams than were wanted');
	ask('RESET pg_exchange.slices; RESET pg_exchange.max_connections_per_server');
	goes_on('out of files');
}

# ---- disk ---------------------------------------------------------------------

# Of the shard, in the midst of a sort.
for my $exchange (qw(off on))
{
	$shard->safe_psql('postgres', q{ALTER ROLE reader SET temp_file_limit = '4MB'; ALTER ROLE reader SET work_mem = '1MB'});
	begin_session();
	ask("SET pg_exchange.enabled = $exchange; SELECT count(filler) FROM (SELECT filler FROM sorted OFFSET 0) x");
	like($session->{stderr}, qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit/, "remote out of disk, exchange $exchange: the query ends with its error");
}
goes_on('remote out of disk');
$shard->safe_psql('postgres', q{ALTER ROLE reader RESET ALL});

# Of the coordinator, where streams are read ahead because postgres_fdw's session is about to write (by a function that
# says that it is immutable, else there would be no stream).
begin_session();
ask("SET work_mem = '1MB'; SET temp_file_limit = '4MB'");
ask($drained);
like($session->{stderr}, qr/ERROR:  53400: temporary file size exceeds "?temp_file_limit/, 'coordinator out of disk: the query ends with its error');
ask('RESET temp_file_limit');
goes_on('coordinator out of disk');

# A file system that is full: of the shard, then of the coordinator.
SKIP:
{
	skip 'no small file system can be mounted here: no namespaces of our own', 1 unless $OwnNamespaces::entered;

	my $folder = PostgreSQL::Test::Utils::tempdir_short;
	system_or_bail('mount', '-t', 'tmpfs', '-o', 'size=4m', 'small', $folder);
	mkdir("$folder/$_") for qw(shard coordinator);
	for my $node ($shard, $coordinator)
	{
		$node->safe_psql('postgres', sprintf("CREATE TABLESPACE small LOCATION '%s/%s'", $folder, $node->name));
	}
	$shard->safe_psql('postgres', q{GRANT CREATE ON TABLESPACE small TO reader;
		ALTER ROLE reader SET temp_tablespaces = 'small'; ALTER ROLE reader SET work_mem = '1MB'});
	for my $exchange (qw(off on))
	{
		begin_session();
		ask("SET pg_exchange.enabled = $exchange; SELECT count(filler) FROM (SELECT filler FROM sorted OFFSET 0) x");
		like($session->{stderr}, qr/ERROR:  53100: could not write to file .*No space left on device/, "remote disk full, exchange $exchange: the query ends with its error");
	}
	goes_on('remote disk full');
	$shard->safe_psql('postgres', q{ALTER ROLE reader RESET ALL});

	begin_session();
	ask("SET work_mem = '1MB'; SET temp_tablespaces = 'small'");
	ask($drained);
	like($session->{stderr}, qr/ERROR:  53100: could not write to file .*No space left on device/, 'coordinator disk full: the query ends with its error');
	goes_on('coordinator disk full');
	is_deeply([ glob("$folder/*/PG_*/pgsql_tmp/*") ], [], 'disk full: no temporary file is left');
	ask('RESET temp_tablespaces');

	# A snapshot is a file. Who reads without one goes on.
	system_or_bail('mount', '-t', 'tmpfs', '-o', 'size=4m,mode=777', 'small', $shard->data_dir . '/pg_snapshots');
	begin_session();
	goes_on('room for snapshots');
	system_or_bail('sh', '-c', 'head -c 4M /dev/zero > ' . $shard->data_dir . '/pg_snapshots/full 2> /dev/null || true');
	begin_session();
	is(ask($scan), $rows, 'no room for a snapshot: all rows come');
	is($session->{stderr}, '', 'no room for a snapshot: there is no error');
	is(transport(), 'exchange v1, session (snapshot cannot be shared)', 'no room for a snapshot: EXPLAIN says why');
	system_or_bail('umount', $shard->data_dir . '/pg_snapshots');
	begin_session();
	goes_on('room for snapshots again');
}

# ---- time -----------------------------------------------------------------------

# Sessions that stand still are ended: postgres_fdw's own among them.
my $nested = 'SET enable_hashjoin = off; SET enable_mergejoin = off;
	SELECT count(*), sum(e.id) FROM (SELECT id, pg_sleep(0.8) FROM few OFFSET 0) f CROSS JOIN LATERAL (SELECT * FROM events x WHERE x.id = f.id OFFSET 0) e;
	RESET enable_hashjoin; RESET enable_mergejoin;';
for my $exchange (qw(off on))
{
	$shard->safe_psql('postgres', q{ALTER ROLE reader SET idle_in_transaction_session_timeout = '400ms'});
	begin_session();
	ask("SET pg_exchange.enabled = $exchange; $nested");
	like($session->{stderr}, qr/ERROR:  (25P03|08006): .*(idle-in-transaction timeout|server closed the connection unexpectedly)/s,
		"idle_in_transaction_session_timeout, exchange $exchange: there is an error");
}
$shard->safe_psql('postgres', q{ALTER ROLE reader RESET ALL});
goes_on('idle_in_transaction_session_timeout');
begin_session();
is(ask($nested), '3|6', 'all rows come without idle_in_transaction_session_timeout');

# Kept connections that are ended while nothing runs are no error.
$shard->safe_psql('postgres', q{ALTER ROLE reader SET idle_session_timeout = '300ms'});
begin_session();
ask('SET pg_exchange.slices = 4');
is(ask('SELECT count(*) FROM (SELECT * FROM spread OFFSET 0) x'), 40000, 'idle_session_timeout: the first query works');
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader'}), 'idle_session_timeout: sessions end');
is(ask('SELECT count(*) FROM (SELECT * FROM spread OFFSET 0) x'), 40000, 'idle_session_timeout: four kept connections are gone, and the next query works');
is($session->{stderr}, '', 'idle_session_timeout: there is no error');
$shard->safe_psql('postgres', q{ALTER ROLE reader RESET ALL});
begin_session();
goes_on('idle_session_timeout');

# The shard has a statement_timeout of its own.
$shard->safe_psql('postgres', q{ALTER ROLE reader SET statement_timeout = '2s'});
begin_session();
ask('BEGIN; DECLARE c CURSOR FOR SELECT id FROM (SELECT id, filler FROM big ORDER BY md5(filler || md5(filler)) OFFSET 0) x');
ask('SELECT count(*) FROM big a JOIN big b ON a.filler < b.filler');
like($session->{stderr}, qr/ERROR:  57014: canceling statement due to statement timeout/, 'remote statement_timeout: the query ends with its error');
ask('ROLLBACK');
$shard->safe_psql('postgres', q{ALTER ROLE reader RESET ALL});
begin_session();
goes_on('remote statement_timeout');

# ---- privileges -----------------------------------------------------------------

# USAGE on schema exchange is revoked while a connection is kept, during a session read, and during a stream.
ask('BEGIN; DECLARE c CURSOR FOR SELECT id, filler FROM big');
like(ask('FETCH 1 FROM c'), qr/^\d+\|/, 'a cursor has begun');
$gate->query('SELECT pg_advisory_lock(7)');
$session->query_until(qr/sent/, "\\echo sent\nSELECT count(filler) FROM (SELECT id, filler FROM big OFFSET 0) x
	WHERE CASE WHEN id = 1 THEN at_gate(id) ELSE true END;\n");
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND wait_event = 'ClientWrite'}),
	'a stream has begun');
$shard->safe_psql('postgres', 'REVOKE USAGE ON SCHEMA exchange FROM PUBLIC');
$gate->query('SELECT pg_advisory_unlock(7)');
is(ask(''), 50000, 'USAGE revoked: the stream goes on');
is(ask($scan), $rows, 'USAGE revoked: all rows come');
is($session->{stderr}, '', 'USAGE revoked: there is no error');
like(transport(), qr/^postgres_fdw \(remote user may not use pg_exchange\)/, 'USAGE revoked: EXPLAIN says why');
is(ask('MOVE 49998 FROM c; FETCH ALL FROM c') =~ /^\d+\|/ ? 1 : 0, 1, 'USAGE revoked: the cursor goes on');
ask('COMMIT');
begin_session();
is(ask($scan), $rows, 'without USAGE: all rows come');
like(transport(), qr/^postgres_fdw \(remote user may not use pg_exchange\)/, 'without USAGE: EXPLAIN says why');
$shard->safe_psql('postgres', 'GRANT USAGE ON SCHEMA exchange TO PUBLIC');
begin_session();
goes_on('USAGE granted');

# ---- locks ------------------------------------------------------------------------

# Two foreign tables that are one table of the shard: a TRUNCATE of the one does
# not wait for a stream of the other, which gets its rows.
$shard->safe_psql('postgres', q{CREATE TABLE wide AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 20000) i; GRANT ALL ON wide TO reader});
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE wide (id int, filler text) SERVER shard;
	CREATE TABLE wides (id int, filler text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE wide_too PARTITION OF wides FOR VALUES FROM (0) TO (1000000) SERVER shard OPTIONS (table_name 'wide')});
$coordinator->safe_psql('postgres', q{
	CREATE FUNCTION truncate_now(name text) RETURNS boolean LANGUAGE plpgsql AS
		$$BEGIN EXECUTE 'TRUNCATE ' || name; RETURN true; END$$;
	CREATE FUNCTION truncate_there(name text, id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
		$$BEGIN RETURN truncate_now(name); END$$});
for my $truncated (qw(wide_too wides))
{
	ask(q{SET statement_timeout = '180s'; BEGIN});
	is(ask("SELECT count(filler), sum(id) FROM (SELECT id, filler FROM wide OFFSET 0) x
		WHERE CASE WHEN id = 1 THEN truncate_there('$truncated', id) ELSE true END"), $rows, "TRUNCATE $truncated: the stream has its rows");
	is($session->{stderr}, '', "TRUNCATE $truncated: it does not wait for the stream");
	is(ask('SELECT count(*) FROM wide'), 0, "TRUNCATE $truncated: the table is empty now");
	ask('ROLLBACK');
	is(ask('SELECT count(*) FROM wide'), 20000, "TRUNCATE $truncated: the table has its rows when that is rolled back");
	# A cursor is one of postgres_fdw's session, and in the way of that.
	for my $exchange (qw(off on))
	{
		ask("BEGIN; SET LOCAL pg_exchange.enabled = $exchange; DECLARE c CURSOR FOR SELECT id FROM wide WHERE length(filler) > 1");
		like(ask('FETCH 1 FROM c'), qr{^\d+$}, "TRUNCATE $truncated, exchange $exchange: a cursor is open");
		ask("TRUNCATE $truncated");
		like($session->{stderr}, qr/ERROR:  55006: cannot TRUNCATE "wide" because it is being used by active queries in this session/,
			"TRUNCATE $truncated, exchange $exchange: it is refused");
		ask('ROLLBACK');
	}
}
goes_on('TRUNCATE');
$session->quit;
$gate->quit;

done_testing();
