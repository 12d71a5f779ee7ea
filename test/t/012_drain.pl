# More scans than connections: all that is left over is read by postgres_fdw's
# session, so every scan is an exchange. And streams that run when that session
# is about to write: they are drained, and what is drained goes to disk, not to
# memory.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $shard = new_shard('shard');
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	CREATE INDEX ON events (id);
	CREATE VIEW big AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 300000) i;
	CREATE VIEW huge AS SELECT i AS id, repeat(md5(i::text), 1000000) AS filler FROM generate_series(1, 6) i;
	CREATE TABLE written (id int);
	CREATE TABLE part_0 AS SELECT * FROM events WHERE id % 2 = 0;
	CREATE TABLE part_1 AS SELECT * FROM events WHERE id % 2 = 1;
	ANALYZE});
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.max_connections_per_server = 1\nlog_temp_files = 0\n");
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE big (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE huge (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE written (id int) SERVER shard;
	CREATE TABLE parts (id int, name text) PARTITION BY LIST ((id % 2));
	CREATE FOREIGN TABLE part_0 PARTITION OF parts FOR VALUES IN (0) SERVER shard;
	CREATE FOREIGN TABLE part_1 PARTITION OF parts FOR VALUES IN (1) SERVER shard;
	SET pg_exchange.enabled = off;
	ANALYZE events, parts});

my $session = open_session($coordinator);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
ask("SET statement_timeout = '180s'");
my $pid = ask('SELECT pg_backend_pid()');

# By which ways the scans of a query have come, each once.
sub transports
{
	my ($sql) = @_;
	my %seen;
	$seen{$_}++ for ask("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $sql") =~ /Transport: (.*)/g;
	return join(', ', sort keys %seen);
}

my $e = '(SELECT * FROM events OFFSET 0)';
my $s = '(SELECT * FROM events ORDER BY id OFFSET 0)';
my %plans = (
	'hash self-join' => [ '', "SELECT count(*) FROM $e a JOIN $e b USING (id)" ],
	'merge self-join' => [ 'SET enable_hashjoin = off; SET enable_nestloop = off', "SELECT count(*) FROM $s a JOIN $s b USING (id)" ],
	'nested loop' => [ 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off',
		"SELECT count(*) FROM (SELECT * FROM events WHERE id < 30 OFFSET 0) a JOIN (SELECT * FROM events WHERE id < 20 OFFSET 0) b ON a.id < b.id" ],
	'nested loop with a parameter' => [ 'SET enable_hashjoin = off; SET enable_mergejoin = off',
		"SELECT count(*) FROM (SELECT * FROM events WHERE id < 30 OFFSET 0) a CROSS JOIN LATERAL (SELECT * FROM events x WHERE x.id = a.id OFFSET 0) b" ],
	'append' => [ '', 'SELECT * FROM parts' ],
	'merge append' => [ '', 'SELECT * FROM parts ORDER BY id' ],
	'merge append joined with itself' => [ 'SET enable_hashjoin = off; SET enable_nestloop = off',
		'SELECT count(*) FROM (SELECT * FROM parts ORDER BY id OFFSET 0) a JOIN (SELECT * FROM parts ORDER BY id OFFSET 0) b USING (id)' ]);
for my $name (sort keys %plans)
{
	my ($settings, $sql) = @{ $plans{$name} };
	ask("BEGIN; SET statement_timeout = '180s'; $settings");
	like(transports($sql), $name eq 'nested loop with a parameter' ? qr/^exchange v1, session \(parameters change\), exchange v1, stream$/ :
			qr/^(exchange v1, session \(no connection is free\), )?exchange v1, stream$/, "$name: the rows come by exchange alone");
	is($session->{stderr}, '', "$name: there is no error");
	ask('ROLLBACK; RESET ALL');
}
is(ask(q{
	BEGIN; DECLARE c CURSOR FOR SELECT id FROM events ORDER BY id; FETCH 1 FROM c}), '1', 'a cursor');
is(transports('SELECT * FROM events'), 'exchange v1, stream', 'the stream has no connection of its own then');
is(ask('FETCH 2 FROM c'), "2\n3", 'the stream goes on');
ask('COMMIT');

# Memory. A function that writes, for the first row, before a gate that stops at
# the second: what the stream had yet to send is then here. (The function says
# that it is immutable: else there would be no stream.)
sub memory_mb
{
	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 / 1024 : die 'no RssAnon';
}
my $gate = make_gate($coordinator);
$coordinator->safe_psql('postgres', q{
	CREATE FUNCTION write_now() RETURNS boolean LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO written VALUES (1); RETURN true; END$$;
	CREATE FUNCTION write_there(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
		$$BEGIN RETURN write_now(); END$$});
sub drained
{
	my ($scan) = @_;
	$gate->query('SELECT pg_advisory_lock(7)');
	$session->{stderr} = '';
	$session->query_until(qr/sent/, "\\echo sent\n" .
		"SELECT count(*), sum(id), max(length(filler)), max(CASE WHEN left(filler, 1024) <> repeat(md5(id::text), 32) THEN id END)
		FROM (SELECT id, filler FROM $scan OFFSET 0) x
		WHERE CASE id WHEN 1 THEN write_there(id) WHEN 2 THEN at_gate(id) ELSE true END;\n");
	ok($coordinator->poll_query_until('postgres', "SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"), "$scan: the query is in mid-stream");
	return;
}
ask("BEGIN; SET LOCAL work_mem = '1MB'");
my $offset = -s $coordinator->logfile;
my $before = memory_mb();
drained('big');
is($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND state <> 'idle'}), 0,
	'a stream of 300 MB has ended');
cmp_ok(memory_mb(), '<', 96, 'what is drained does not stay in memory');
note(sprintf('memory: %.1f MB before, %.1f MB after', $before, memory_mb()));
$gate->query('SELECT pg_advisory_unlock(7)');
is(ask(''), '300000|45000150000|1024|', 'every row of a drained stream can be read');
is($session->{stderr}, '', 'there is no error');
cmp_ok(memory_mb(), '<', 96, 'reading them does not take them all into memory');
is(ask('SELECT count(*) FROM written'), '1', 'what was written meanwhile is there');
ask('ROLLBACK');
like(slurp_file($coordinator->logfile, $offset), qr/temporary file: .* size \d{8,}/, 'the drained rows were on disk');

# A row that is larger than receive_buffer, of those that are drained and of
# those that are read.
my $lengths = "6|21|32000000";
ask("SET pg_exchange.receive_buffer = '1MB'");
is(ask('SELECT count(*), sum(id), max(length(filler)) FROM (SELECT * FROM huge OFFSET 0) x'), $lengths, 'rows larger than receive_buffer come');
is(transports('SELECT * FROM huge'), 'exchange v1, stream', 'they come by exchange');
is($session->{stderr}, '', 'there is no error');
ask('BEGIN');
drained('huge');
$gate->query('SELECT pg_advisory_unlock(7)');
is(ask(''), "$lengths|", 'they can be drained');
is($session->{stderr}, '', 'there is no error');
ask('ROLLBACK');
$session->quit;
$gate->quit;

done_testing();
