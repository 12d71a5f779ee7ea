# A hot standby as the remote: scans of it are exchanges, in transactions of
# any kind; what was replayed since the snapshot was taken is not seen.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The primary is also the coordinator: it reads from its own standby.
my $primary = new_coordinator('primary', init => [ allows_streaming => 1 ]);
$primary->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	ANALYZE events;
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
add_server($primary, 'standby', $standby);
$primary->safe_psql('postgres', q{
	CREATE SCHEMA replica;
	CREATE FOREIGN TABLE replica.events (id int, name text) SERVER standby OPTIONS (schema_name 'public');
});

sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
}
catch_up();

my $session = open_session($primary);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub transport
{
	return label('Transport', ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM replica.events'));
}

my $scan = 'SELECT count(*), sum(id), count(DISTINCT name) FROM (SELECT * FROM replica.events OFFSET 0) x;';
my $rows = '20000|200010000|20000';

is(transport(), 'exchange v1, stream', 'a standby is a remote like any other');
is(ask($scan), $rows, 'all rows of a standby come');
like(ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM replica.events'), qr/Compression: NONE \(same host\)/,
	'a standby is not the same instance as its primary');

# Transactions, by what they begin with.
for my $begin ('BEGIN', 'BEGIN READ ONLY', 'BEGIN ISOLATION LEVEL REPEATABLE READ',
	'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
{
	ask($begin);
	is(ask($scan), $rows, "$begin: all rows come");
	is(transport(), 'exchange v1, stream', "$begin: the rows come by exchange");
	ask('SAVEPOINT s');
	is(transport(), 'exchange v1, stream', "$begin: all rows come in a subtransaction, too");
	ask('ROLLBACK TO s');
	is(ask($scan), $rows, "$begin: all rows come again");
	ask('COMMIT');
	is($session->{stderr}, '', "$begin: there is no error");
}

# A standby has no serializable transactions.
for my $enabled (qw(off on))
{
	ask("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL pg_exchange.enabled = $enabled");
	ask($scan);
	like($session->{stderr}, qr/cannot use serializable mode in a hot standby/, "SERIALIZABLE is an error with exchange $enabled");
	ask('ROLLBACK');
}

# A write of our own, which also has the local transaction own an id.
ask('BEGIN; CREATE TABLE written (id int); INSERT INTO written VALUES (1)');
is(ask($scan), $rows, 'a transaction that has written here sees the standby');
is(transport(), 'exchange v1, stream', 'it reads the standby by exchange');
ask('ROLLBACK');

# One snapshot, whatever is replayed meanwhile.
ask('BEGIN');
is(ask($scan), $rows, 'a transaction sees the primary as it was');
$primary->safe_psql('postgres', 'INSERT INTO events SELECT 0, i::text FROM generate_series(-9, 0) i');
catch_up();
is($standby->safe_psql('postgres', 'SELECT count(*) FROM events'), '20010', 'the standby has replayed');
is(ask($scan), $rows, 'the transaction keeps its snapshot');
is(transport(), 'exchange v1, stream', 'it does so by exchange');
is(ask("SET LOCAL pg_exchange.enabled = off; $scan"), $rows, 'as with postgres_fdw');
ask('COMMIT');
is(ask($scan), '20010|200010000|20010', 'the next transaction sees what was replayed');

# Parallel senders on the standby.
$standby->append_conf('postgresql.conf', <<EOC);
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
EOC
$standby->reload;
$standby->poll_query_until('postgres', q{SELECT current_setting('parallel_tuple_cost') = '0'});
like($standby->safe_psql('postgres', 'EXPLAIN SELECT * FROM events'), qr/Gather/, 'there is a parallel plan on the standby');
is(ask($scan), '20010|200010000|20010', 'parallel senders send every row once');

# Writing through it fails as ever, and reading goes on.
ask('UPDATE replica.events SET id = 1');
like($session->{stderr}, qr/cannot execute UPDATE in a read-only transaction/, 'a standby takes no writes');
is(transport(), 'exchange v1, stream', 'reading goes on after that error');

# Promotion does not end connections: own writes are seen from then on.
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is(transport(), 'exchange v1, stream', 'promoted: the rows come by exchange');
ask('BEGIN; DELETE FROM replica.events WHERE id = 0');
is(ask($scan), $rows, 'promoted: own writes are seen');
is(transport(), 'exchange v1, session (transaction has written)', 'promoted: the session reads that has written');
ask('COMMIT');
is(ask($scan), $rows, 'promoted: its writes are seen after the commit');
is(transport(), 'exchange v1, stream', 'promoted: the rows come by exchange again');
$session->quit;

done_testing();
