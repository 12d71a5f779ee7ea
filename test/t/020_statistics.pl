# Statistics in shared memory: what other sessions see, of streams that run and
# of those that have ended, well or not; eviction; restart; and the same
# without shared memory.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator',
	conf => "shared_preload_libraries = 'pg_exchange'\npg_exchange.stat_max = 10\npg_exchange.local_scope = none\n");
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 100000) i;
	ANALYZE events;
	CREATE FUNCTION wait_for_lock(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_lock(42); PERFORM pg_advisory_unlock(42); RETURN 0; END';
	CREATE FUNCTION nap(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(0.01); RETURN 1; END';
	CREATE VIEW slow AS
		SELECT nap(i) AS id, (SELECT string_agg(md5((i * 100 + j)::text), '') FROM generate_series(1, 20) j) AS filler
		FROM generate_series(1, 2000) i;
	CREATE VIEW held AS SELECT id, name FROM events
		UNION ALL SELECT wait_for_lock(i), 'the last' FROM generate_series(1, 1) i});
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public');

sub stat_of
{
	my ($columns, $where) = @_;
	return $coordinator->safe_psql('postgres', "SELECT $columns FROM exchange.pg_stat_exchange WHERE " . ($where // "srvname = 'shard'"));
}

my $scan = 'SELECT count(id), count(name) FROM events WHERE random() < 2';

# Another session's scans.
is(stat_of('count(*)'), '0', 'nothing is counted before the first scan');
$coordinator->safe_psql('postgres', $scan) for 1 .. 3;
is(stat_of('scans, streams, rows, fallbacks, errors'), '3|3|300000|0|0', 'scans of other sessions are counted');
$coordinator->safe_psql('postgres', "SET pg_exchange.compression = high_compression; $scan");
is(stat_of('scans, local_bytes_none > 0, local_bytes_lz4 > 0, local_bytes_zstd > 0, remote_bytes_none + remote_bytes_lz4 + remote_bytes_zstd'),
	'4|t|t|t|0', 'bytes are counted by codec and locality');

# Several sessions at once lose nothing.
{
	my @sessions = map { open_session($coordinator) } 1 .. 4;
	$_->query_until(qr/begun/, "\\echo begun\n" . "$scan;\n" x 5) for @sessions;
	$_->quit for @sessions;
}
is(stat_of('scans, rows'), '24|2400000', 'sessions at the same time lose no counts');

# Workers of a parallel plan.
$coordinator->safe_psql('postgres', q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET pg_exchange.slices = 3;
	SELECT count(*), sum(length(name)) FROM events WHERE random() < 2});
my ($scans, $rows) = split(/\|/, stat_of("scans, rows"));
is("$scans|$rows", '25|2500000', 'a parallel scan in slices is one scan, and all its rows count');

# A stream that runs, seen from another session.
my $lock = open_session($shard);
$lock->query('SELECT pg_advisory_lock(42)');
my $running = open_session($coordinator);
my $pid = $running->query('SELECT pg_backend_pid()');
$running->query_until(qr/begun/, "\\echo begun\nSELECT count(name), sum(id) FROM held WHERE random() < 2;\n");
ok($coordinator->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM exchange.pg_stat_progress_exchange WHERE pid = $pid AND blocked_on = 'server' AND rows > 10000"),
	'a running stream and what it waits for are seen from another session');
is($coordinator->safe_psql('postgres', qq{
	SELECT srvname, slice, rows > 0, rows <= 100001, estimated_rows > 0, percent > 0, wire_bytes > 0, raw_bytes > wire_bytes,
		encodings <> '', codecs <> '', remote_query
	FROM exchange.pg_stat_progress_exchange WHERE pid = $pid}),
	'shard|0|t|t|t|t|t|t|t|t|SELECT id, name FROM public.held', 'the view has its figures');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM exchange.pg_stat_progress_exchange WHERE blocked_on = 'server' AND remote_pid IN (SELECT remote_pid FROM exchange.pg_stat_progress_exchange WHERE pid = $pid)"),
	'1', 'the view has the remote process');
is($shard->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_activity WHERE pid = ' .
	$coordinator->safe_psql('postgres', "SELECT remote_pid FROM exchange.pg_stat_progress_exchange WHERE pid = $pid")), '1', 'that process is one of the shard');
my $event = $coordinator->safe_psql('postgres', "SELECT wait_event_type || ':' || wait_event FROM pg_stat_activity WHERE pid = $pid");
is($event, $coordinator->pg_version >= 17 ? 'Extension:ExchangeReceive' : 'Extension:Extension', 'pg_stat_activity has the wait event');

# What others may see of it.
$coordinator->safe_psql('postgres', 'CREATE ROLE curious LOGIN');
is($coordinator->safe_psql('postgres', "SELECT pid = $pid, usename = 'curious', srvname, rows, remote_query FROM exchange.pg_stat_progress_exchange",
	extra_params => [ '-U', 'curious' ]), 't|f|||', 'others see that there is a stream, and no more');

# A function with the rights of its definer: its caller sees the stream, but not
# the query, which may say what the definer alone knows.
$coordinator->safe_psql('postgres', q{
	CREATE ROLE clerk LOGIN IN ROLE curious;
	CREATE FUNCTION report() RETURNS numeric LANGUAGE plpgsql SECURITY DEFINER SET pg_exchange.min_bytes = 0 AS
		$$BEGIN RETURN (SELECT count(name) + sum(id) FROM held WHERE name <> 'secret' AND random() < 2); END$$});
{
	my $caller = $coordinator->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'curious' ]);
	my $called = $caller->query('SELECT pg_backend_pid()');
	my $shown = "SELECT rows > 10000, coalesce(remote_query, 'not shown') FROM exchange.pg_stat_progress_exchange WHERE pid = $called";
	$caller->query_until(qr/begun/, "\\echo begun\nSELECT report();\n");
	ok($coordinator->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM exchange.pg_stat_progress_exchange WHERE pid = $called AND blocked_on = 'server' AND rows > 10000"),
		'a stream in a function with the rights of its definer is seen');
	is($coordinator->safe_psql('postgres', $shown, extra_params => [ '-U', $_ ]), 't|not shown', "$_ sees it without its query")
		for 'curious', 'clerk';
	like($coordinator->safe_psql('postgres', $shown), qr/^t\|SELECT .*secret/, 'a superuser sees all of it');
	$coordinator->safe_psql('postgres', 'GRANT pg_read_all_stats TO clerk');
	like($coordinator->safe_psql('postgres', $shown, extra_params => [ '-U', 'clerk' ]), qr/^t\|SELECT .*secret/, 'who may read all statistics sees all of it, too');
	$coordinator->safe_psql('postgres', "SELECT pg_terminate_backend($called, 10000)");
	eval { $caller->quit };
}

# It is cancelled: an error, and the slot is free.
my $waited = stat_of('receive_wait_time');
sleep(1);
$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
ok($coordinator->poll_query_until('postgres', 'SELECT count(*) = 0 FROM exchange.pg_stat_progress_exchange'), 'a cancelled stream is gone');
ok($coordinator->poll_query_until('postgres', "SELECT errors = 2 AND scans = 27 FROM exchange.pg_stat_exchange WHERE srvname = 'shard'"),
	'it counts as an error');
cmp_ok(stat_of('receive_wait_time') - $waited, '>=', 500, 'the time that it has waited is counted');

# So does one whose backend is terminated.
$running->query_until(qr/begun/, "\\echo begun\nSELECT count(name), sum(id) FROM held WHERE random() < 2;\n");
ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM exchange.pg_stat_progress_exchange WHERE pid = $pid AND blocked_on = 'server'"), 'another stream is seen');
$coordinator->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM exchange.pg_stat_progress_exchange'), '0', 'a terminated backend leaves no stream behind');
is(stat_of('errors'), '3', 'it counts as an error');
eval { $running->quit };
$lock->query('SELECT pg_advisory_unlock(42)');
$lock->quit;

# A stream that takes its time is counted while it runs.
{
	my $slow = open_session($coordinator);
	my $rows = stat_of('rows');
	$slow->query_until(qr/begun/, "\\echo begun\nSELECT sum(id), count(filler) FROM slow WHERE random() < 2;\n");
	ok($coordinator->poll_query_until('postgres', "SELECT rows > $rows FROM exchange.pg_stat_exchange WHERE srvname = 'shard'"),
		'a running stream is counted');
	is($coordinator->safe_psql('postgres', 'SELECT count(*), sum(rows) < 2000 FROM exchange.pg_stat_progress_exchange'), '1|t', 'it is counted while it runs');
	$coordinator->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 10000) FROM exchange.pg_stat_progress_exchange});
	eval { $slow->quit };
}

# More servers than there is room for: the one not used for longest goes.
for my $i (1 .. 12)
{
	add_server($coordinator, "other$i", $shard);
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE other$i (id int) SERVER other$i OPTIONS (table_name 'events');
		SELECT count(*) FROM (SELECT * FROM other$i OFFSET 0) x});
}
is(stat_of('string_agg(srvname, $$ $$ ORDER BY substr(srvname, 6)::int)', "srvname LIKE 'other%'"),
	join(' ', map { "other$_" } 3 .. 12), 'the table has stat_max entries, the latest ones');
is(stat_of('sum(scans)', "srvname LIKE 'other%'"), '10', 'these entries have their counts');

# Users and databases of their own; a server that is renamed.
$coordinator->safe_psql('postgres', q{
	ALTER SERVER shard RENAME TO renamed;
	SELECT count(*) FROM (SELECT * FROM events OFFSET 0) x});
is(stat_of('scans', "srvname = 'renamed'"), '1', 'a server that is renamed keeps its counts');
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR curious SERVER renamed OPTIONS (user 'postgres', password_required 'false');
	GRANT SELECT ON events TO curious});
$coordinator->safe_psql('postgres', "SELECT count(*) FROM (SELECT * FROM events OFFSET 0) x", extra_params => [ '-U', 'curious' ]);
is(stat_of('usename, scans', "srvname = 'renamed' ORDER BY usename = 'curious'"),
	$coordinator->safe_psql('postgres', 'SELECT current_user') . "|1\ncurious|1", 'users count for themselves');
is($coordinator->safe_psql('postgres', "SELECT DISTINCT datname FROM exchange.pg_stat_exchange"), 'postgres', 'the view has the database');

# exchange.disconnect forgets what spoke against a server.
{
	my $bare = new_shard('bare', extensions => []);
	$bare->safe_psql('postgres', 'CREATE TABLE bare AS SELECT 1 AS id');
	add_server($coordinator, 'bare', $bare);
	$coordinator->safe_psql('postgres', 'CREATE FOREIGN TABLE bare (id int) SERVER bare');
	my $session = open_session($coordinator);
	my $transport = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM bare;';
	is(label('Transport', $session->query($transport)), 'postgres_fdw (remote has no pg_exchange)', 'a server without the extension is read');
	$bare->safe_psql('postgres', 'CREATE EXTENSION pg_exchange');
	is(label('Transport', $session->query($transport)), 'postgres_fdw (remote has no pg_exchange)', 'it is remembered as such');
	$session->query(q{SELECT exchange.disconnect('bare')});
	is(label('Transport', $session->query($transport)), 'exchange v1, stream', 'it is remembered until it is disconnected');
	$session->quit;
	is(stat_of('scans, fallbacks, fallbacks_no_extension', "srvname = 'bare'"), '1|2|2', 'fallbacks are counted by reason');
}

# Reset.
my ($ret, $out, $err) = $coordinator->psql('postgres', 'SELECT exchange.reset_stats()', extra_params => [ '-U', 'curious' ]);
like($err, qr/permission denied for function reset_stats/, 'not everyone may reset');
$coordinator->safe_psql('postgres', 'SELECT exchange.reset_stats()');
is(stat_of('count(*)', 'true'), '0', 'a reset is one for all sessions');
$coordinator->safe_psql('postgres', $scan);
is(stat_of("scans, stats_reset > now() - interval '1 minute'", "srvname = 'renamed'"), '1|t', 'counting goes on after a reset');

# A restart: from zero. A crash as well.
$coordinator->restart;
is(stat_of('count(*)', 'true'), '0', 'counting begins anew after a restart');
$coordinator->safe_psql('postgres', $scan);
$coordinator->stop('immediate');
$coordinator->start;
is(stat_of('count(*)', 'true'), '0', 'counting begins anew after a crash');

# Without shared memory a session sees what it did itself.
$coordinator->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$coordinator->restart;
$coordinator->safe_psql('postgres', $scan);
is(stat_of('count(*)', 'true'), '0', 'without shared memory, other sessions are not seen');
is($coordinator->safe_psql('postgres', "$scan; SELECT scans, rows FROM exchange.pg_stat_exchange"), "100000|100000\n1|100000",
	'but the own one is');

done_testing();
