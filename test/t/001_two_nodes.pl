# Two servers: what a scan of the coordinator finds on a shard, how it is
# compressed, when it falls back, and that nothing is left running.
# PostgreSQL::Test::Cluster starts the servers.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The shard gets the extension later.
my $shard = new_shard('shard', extensions => []);
my $coordinator = new_coordinator('coordinator');

$shard->safe_psql('postgres', q{
	CREATE TABLE events AS
		SELECT i AS id, 'event ' || i AS name, i / 100.0 AS amount, now() AS at
		FROM generate_series(1, 200000) i;
	ANALYZE events;
});
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public');

# The line of EXPLAIN ANALYZE that begins with a label, for a query run after
# some settings.
sub explained
{
	my ($label, $query, $settings) = @_;
	return label($label, $coordinator->safe_psql('postgres',
		($settings // '') . ";EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query"));
}

# Wait until the shard has no backends of exchanges but idle ones.
sub no_busy_senders
{
	return $shard->poll_query_until('postgres', q{
		SELECT count(*) = 0 FROM pg_stat_activity
		WHERE application_name = 'pg_exchange' AND state <> 'idle'});
}

my $scan = 'SELECT * FROM events';

# Fallback, until the shard has the extension.
is(explained('Transport', $scan), 'postgres_fdw (remote has no pg_exchange)',
	'a remote without the extension is left to postgres_fdw');
is($coordinator->safe_psql('postgres', 'SELECT count(*), sum(id) FROM (SELECT id FROM events OFFSET 0) x'),
	'200000|20000100000', 'postgres_fdw gives the right answer there');
$shard->safe_psql('postgres', 'CREATE EXTENSION pg_exchange');
is(explained('Transport', $scan), 'exchange v1, stream', 'with the extension on the shard there is an exchange');

# Locality and modes.
is(explained('Compression', $scan), 'NONE (same host)', 'servers on one host do not compress');
like(explained('Compression', $scan, 'SET pg_exchange.local_scope = instance'),
	qr/^AUTO \(lz4 \d+ batches, zstd \d+, none \d+\)$/, 'servers on one host compress if the host is out of scope');
my $remote = 'SET pg_exchange.local_scope = none';
for my $mode (['none', 'NONE'], ['fast', 'FAST (lz4)'], ['high_compression', 'HIGH_COMPRESSION (zstd)'])
{
	my $set = "$remote; SET pg_exchange.compression = $mode->[0]";
	is(explained('Compression', $scan, $set), $mode->[1], "compression $mode->[0] is what is used");
	is($coordinator->safe_psql('postgres', qq{
		SET pg_exchange.enabled = off;
		CREATE TEMP TABLE expected AS $scan;
		SET pg_exchange.enabled = on;
		$set;
		CREATE TEMP TABLE got AS $scan;
		SELECT count(*) FROM got;
		SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) x;
		SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) x}),
		"200000\n0\n0", "compression $mode->[0] gives what postgres_fdw gives");
}

# Parallel senders.
$shard->safe_psql('postgres', q{
	ALTER SYSTEM SET parallel_setup_cost = 0;
	ALTER SYSTEM SET parallel_tuple_cost = 0;
	ALTER SYSTEM SET min_parallel_table_scan_size = 0;
	SELECT pg_reload_conf()});
is($coordinator->safe_psql('postgres', "$remote; SELECT count(*), sum(id), count(DISTINCT name) FROM (SELECT * FROM events OFFSET 0) x"),
	'200000|20000100000|200000', 'parallel senders send every row once');
$shard->safe_psql('postgres', 'ALTER SYSTEM RESET ALL; SELECT pg_reload_conf()');

# A session that stays, to look at the shard while it is there.
my $session = open_session($coordinator);
sub ask
{
	my ($query) = @_;
	return $session->query($query);
}

# One snapshot for all scans of a transaction, whoever writes meanwhile.
my $sum = 'SELECT sum(id) FROM (SELECT id FROM events OFFSET 0) x;';
ask('BEGIN');
my $before = ask($sum);
$shard->safe_psql('postgres', 'UPDATE events SET id = id + 1 WHERE id <= 1000');
is(ask($sum), $before, 'a second scan sees the snapshot of the first');
is(ask("SET LOCAL pg_exchange.enabled = off; $sum"), $before, 'postgres_fdw sees that snapshot, too');
ask('COMMIT');
is(ask($sum), $before + 1000, 'the next transaction sees what was written');

# Leaving a stream early stops the remote backend, and the session goes on.
$shard->safe_psql('postgres', q{
	CREATE VIEW endless AS SELECT id, repeat('x', 1000) AS filler FROM (SELECT generate_series(1, 2000000000) AS id) x});
$coordinator->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public LIMIT TO (endless) FROM SERVER shard INTO public;
	ALTER FOREIGN TABLE endless OPTIONS (ADD fetch_size '1')});    # more than ten FETCHes are a stream
ask('BEGIN');
is(ask('SELECT count(*) FROM (SELECT filler FROM endless WHERE random() < 2 LIMIT 20) x;'), '20', 'a query with a LIMIT has its rows');
ok(no_busy_senders(), 'a LIMIT leaves nothing running');
is(ask($sum), $before + 1000, 'the transaction goes on using the server');
ask('COMMIT');
ask("SET statement_timeout = '2s'; SELECT count(*) FROM (SELECT filler FROM endless OFFSET 0) x;");
like($session->{stderr}, qr/canceling statement due to statement timeout/, 'statement_timeout ends a stream');
$session->{stderr} = '';
ok(no_busy_senders(), 'statement_timeout leaves nothing running');
is(ask("SET statement_timeout = 0; $sum"), $before + 1000, 'the session goes on after a statement_timeout');
is($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange'}),
	1, 'all that takes one connection');
$session->quit;

# A snapshot that cannot be imported: the streams go to another server than
# postgres_fdw's connection, because the options changed in mid-transaction.
my $other = new_shard('other');
$other->safe_psql('postgres', 'CREATE TABLE events (id int, name text, amount numeric, at timestamptz)');
like($coordinator->safe_psql('postgres', sprintf(q{
	BEGIN;
	SELECT count(*) FROM (SELECT id FROM events OFFSET 0) x;
	ALTER SERVER shard OPTIONS (SET host '%s', SET port '%s');
	EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;
	SELECT count(*) FROM (SELECT id FROM events OFFSET 0) x;
	ROLLBACK;}, $other->host, $other->port)),
	qr/^200000\n.*Transport: exchange v1, session \(snapshot cannot be imported.*\n200000$/s,
	'where a snapshot cannot be reached, the session reads that has it');

# The shard goes away between two scans of a session, and during one.
is(explained('Transport', $scan), 'exchange v1, stream', 'a rolled back change of a server is forgotten');
{
	my $script = "SELECT count(*) FROM (SELECT id FROM events OFFSET 0) x;";
	$shard->safe_psql('postgres', q{
		CREATE FUNCTION drop_senders() RETURNS bigint LANGUAGE sql AS $$
			SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE application_name = 'pg_exchange' $$;
		CREATE VIEW dropping AS SELECT drop_senders() AS n});
	$coordinator->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public LIMIT TO (dropping) FROM SERVER shard INTO public');
	is($coordinator->safe_psql('postgres', "$script; SET pg_exchange.enabled = off; SELECT n >= 1 FROM dropping; SET pg_exchange.enabled = on; $script"),
		"200000\nt\n200000", 'a kept connection that died is made anew');
}
$shard->stop('immediate');
my ($ret, $out, $err) = $coordinator->psql('postgres', 'SELECT count(*) FROM (SELECT id FROM events OFFSET 0) x');
like($err, qr/could not connect to server "shard"/, 'a dead shard gives the error of postgres_fdw');

done_testing();
