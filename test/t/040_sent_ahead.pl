# The queries of a server's small partitions are sent together, and run one after
# another on one connection.  Whatever ends one of them, the others are read.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $partitions = 6;
my $shard = new_shard('shard', conf => "log_statement = all\n");
my $coordinator = new_coordinator('coordinator');
my $gate = make_gate($shard);
$shard->safe_psql('postgres', q{
	SELECT format('CREATE TABLE part_%s AS SELECT i AS id, %s AS part FROM generate_series(1, 1000) i', n, n) FROM generate_series(1, 6) n \gexec
	ALTER TABLE part_1 RENAME TO gated;
	CREATE VIEW part_1 AS SELECT * FROM gated WHERE CASE WHEN id = 1 THEN at_gate(id) ELSE true END});
add_server($coordinator, 's', $shard);
$coordinator->safe_psql('postgres', q{
	ALTER SERVER s OPTIONS (ADD async_capable 'true');
	CREATE TABLE parts (id int, part int) PARTITION BY LIST (part);
	SELECT format('CREATE FOREIGN TABLE part_%s PARTITION OF parts FOR VALUES IN (%s) SERVER s', n, n) FROM generate_series(1, 6) n \gexec
	ANALYZE parts});

my $session = open_session($coordinator);
my $query = 'SELECT count(*), sum(id), count(DISTINCT part) FROM (SELECT * FROM parts OFFSET 0) p';
my $right = '6000|3003000|6';

sub is_at_rest
{
	my ($name) = @_;
	ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity
		WHERE state LIKE '%transaction%'}), "$name: no session is left in a transaction");
	return;
}

# Queries of streams that the shard has begun since that place of its log.
sub begun
{
	my ($offset) = @_;
	return scalar(() = slurp_file($shard->logfile, $offset) =~ /LOG:  execute [^:]*: SELECT exchange\.send\(/g);
}

# Begin the query, and wait until its first partition waits at the gate.
sub begin_gated
{
	my ($sql) = @_;
	$gate->query('SELECT pg_advisory_lock(7)');
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	ok($shard->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}),
		'the first partition is being read');
	return;
}

sub open_gate { $gate->query('SELECT pg_advisory_unlock(7)'); return; }

is($session->query_safe($query), $right, 'right rows');
is($session->query_safe($query), $right, 'again');
is($session->query_safe("SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
	SELECT count(*), sum(p.id) FROM generate_series(0, 2) g JOIN (SELECT * FROM parts OFFSET 0) p ON p.id > g; RESET ALL"),
	(6000 + 5994 + 5988) . '|' . (3 * 3003000 - 6 - 18), 'rescans');

# One connection reads all.
is($session->query_safe('SELECT count(*), max(streams) >= 6 FROM exchange.connections'), '1|t', 'one connection has read all');

# A LIMIT ends it while queries follow.
is($session->query_safe('BEGIN; SELECT count(*) FROM (SELECT * FROM parts LIMIT 1500) p'), '1500', 'a LIMIT in the second partition');
is($session->query_safe($query), $right, 'the transaction goes on');
$session->query_safe('COMMIT');
is_at_rest('a LIMIT');

# Somebody wants a partition for himself, whose query was sent: the stream does not wait for him.
begin_gated($query);
my $ddl = $shard->background_psql('postgres');
$ddl->query_until(qr/sent/, "\\echo sent\nBEGIN; LOCK TABLE part_4; COMMIT;\n");
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'part_4'::regclass AND NOT granted}), 'a lock is waited for');
open_gate();
is($session->query_safe(''), $right, 'a lock on a partition whose query was sent: right rows');
$ddl->query_safe('SELECT 1');
$ddl->quit;
is_at_rest('a lock');

# A cancel reaches the query that runs, and none of the others begins.
begin_gated($query);
my $offset = -s $shard->logfile;
$coordinator->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%DISTINCT part%' AND pid <> pg_backend_pid()});
$session->query('');
like($session->{stderr}, qr/canceling statement due to user request/, 'a cancel');
$session->{stderr} = '';
open_gate();
is_at_rest('a cancel');
is(begun($offset), 0, 'queries that were sent do not begin');
is($session->query_safe($query), $right, 'the session goes on');

# An error in one of them.
$shard->safe_psql('postgres', 'ALTER TABLE part_4 RENAME TO rows_4; CREATE VIEW part_4 AS SELECT id, 4 + 1 / (id - 1000) * 0 AS part FROM rows_4');
$session->query($query);
like($session->{stderr}, qr/ERROR:  division by zero/, 'an error');
$session->{stderr} = '';
is_at_rest('an error');
is($session->query_safe('SELECT count(*) FROM (SELECT * FROM parts WHERE part <> 4 OFFSET 0) p'), '5000', 'the session goes on after an error');

# One that only the session may run.
$shard->safe_psql('postgres', 'DROP VIEW part_4; CREATE VIEW part_4 AS SELECT id + length(left(now()::text, 0)) AS id, part FROM rows_4');
is($session->query_safe($query), $right, 'one is read by the session');
is_at_rest('the session');

$session->quit;
$gate->quit;
done_testing();
