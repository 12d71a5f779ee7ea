# More streams than connections: the one that is running is drained, and its
# connection handed on. So every scan is an exchange, even with one connection,
# and what is drained goes to disk, not to memory.
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
	CREATE TABLE part_0 AS SELECT * FROM events WHERE id % 2 = 0;
	CREATE TABLE part_1 AS SELECT * FROM events WHERE id % 2 = 1;
	ANALYZE});
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.max_connections_per_server = 1\nlog_temp_files = 0\n");
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE big (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE huge (id int, filler text) SERVER shard;
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
ask("SET statement_timeout = '60s'");
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
	ask("BEGIN; SET statement_timeout = '60s'; $settings");
	is(transports($sql), 'exchange v1, stream', "$name: by exchange alone");
	is($session->{stderr}, '', "$name: no error");
	ask('ROLLBACK; RESET ALL');
}
is(ask(q{
	BEGIN; DECLARE c CURSOR FOR SELECT id FROM events ORDER BY id; FETCH 1 FROM c}), '1', 'a cursor');
is(transports('SELECT * FROM events'), 'exchange v1, stream', 'does not keep its connection from another scan');
is(ask('FETCH 2 FROM c'), "2\n3", 'and goes on');
ask('COMMIT');

# Memory. The shard counts the streams, too: one at any time.
sub memory_mb
{
	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 / 1024 : die 'no RssAnon';
}
ask("BEGIN; SET LOCAL work_mem = '1MB'; DECLARE c CURSOR FOR SELECT id, filler FROM big WHERE length(filler) = 1024");
like(ask('FETCH 1 FROM c'), qr/^\d+\|/, 'a cursor over 300 MB');
my $offset = -s $coordinator->logfile;
my $before = memory_mb();
is(ask('SELECT count(*), sum(id) FROM (SELECT id FROM events OFFSET 0) x'), '20000|200010000', 'another scan meanwhile');
is($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange'}), 1,
	'on the one connection');
cmp_ok(memory_mb(), '<', 96, 'what is drained does not stay in memory');
note(sprintf('memory: %.1f MB before, %.1f MB after', $before, memory_mb()));
my ($last, $filler) = split /\|/, ask('MOVE 299998 FROM c; FETCH 2 FROM c');
is($filler, ask("SELECT repeat(md5('$last'), 32)"), 'every row of it can be read');
cmp_ok(memory_mb(), '<', 96, 'without all of them in memory');
ask('COMMIT');
like(slurp_file($coordinator->logfile, $offset), qr/temporary file: .* size \d{8,}/, 'they were on disk');

# A row that is larger than receive_buffer, of those that are drained and of
# those that are read.
my $lengths = "6|21|32000000";
ask("SET pg_exchange.receive_buffer = '1MB'");
is(ask('SELECT count(*), sum(id), max(length(filler)) FROM (SELECT * FROM huge OFFSET 0) x'), $lengths, 'rows larger than receive_buffer');
is(transports('SELECT * FROM huge'), 'exchange v1, stream', 'come by exchange');
ask('BEGIN; DECLARE c CURSOR FOR SELECT id, length(filler) FROM huge WHERE length(filler) > random()');
is(ask('FETCH 1 FROM c'), '1|32000000', 'the first of them');
is(ask('SELECT count(*) FROM (SELECT id FROM events OFFSET 0) x'), '20000', 'the others are drained');
is(ask('FETCH 9 FROM c'), join("\n", map { "$_|32000000" } 2 .. 6), 'and read');
ask('COMMIT');
is($session->{stderr}, '', 'no error');
$session->quit;

done_testing();
