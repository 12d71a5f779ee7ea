# Scans that postgres_fdw's sessions read run at the same time where
# postgres_fdw would execute them asynchronously: a session that has nothing
# left here is asked for more, and others are read meanwhile.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map { new_shard("shard$_") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.transport = session\n");
my @gates;

# The second portion waits for a gate of its shard.  As the gate is volatile, a
# portion has 100 rows.
$coordinator->safe_psql('postgres', 'CREATE TABLE t (id int, shard int) PARTITION BY LIST (shard)');
foreach my $number (1, 2)
{
	my $shard = $shards[ $number - 1 ];
	push @gates, make_gate($shard);
	$shard->safe_psql('postgres', qq{
		ALTER FUNCTION at_gate(int) VOLATILE;
		CREATE TABLE stored AS SELECT i AS id, $number AS shard FROM generate_series(1, 300) i;
		CREATE VIEW gated AS SELECT * FROM stored WHERE CASE WHEN id = 150 THEN at_gate(id) ELSE true END});
	add_server($coordinator, "shard$number", $shard, options => "fetch_size '100', async_capable 'true'");
	$coordinator->safe_psql('postgres',
		"CREATE FOREIGN TABLE t$number PARTITION OF t FOR VALUES IN ($number) SERVER shard$number OPTIONS (table_name 'gated')");
}

my $at_gate = "FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND wait_event = 'advisory'";

# Run the query with the gates of both shards closed, look what waits there, and
# open them: what the query returns.
sub read_gated
{
	my ($look) = @_;
	$_->query_safe('SELECT pg_advisory_lock(7)') for @gates;
	my $reader = open_session($coordinator);
	$reader->query_until(qr/begun/, "\\echo begun\nSELECT count(*), sum(id), count(DISTINCT shard) FROM (SELECT * FROM t OFFSET 0) x;\n\\echo done\n");
	$look->();
	$_->query_safe('SELECT pg_advisory_unlock(7)') for @gates;
	my $rows = $reader->query_until(qr/done/, '');
	$reader->quit;
	return $rows;
}

like(read_gated(sub {
		ok($_->poll_query_until('postgres', "SELECT count(*) = 1 $at_gate"), $_->name . ' computes its second portion') for @shards;
	}), qr/^600\|90300\|2$/m, 'all rows, asynchronously');

# A session comes to its next partition when the one before has been read: until
# then, nobody sees that it is locked, or is not there.
$coordinator->safe_psql('postgres', "CREATE TABLE several (LIKE t) PARTITION BY LIST (shard)");
foreach my $number (1 .. 4)
{
	my $shard = $shards[ $number > 2 ? 1 : 0 ];
	$shard->safe_psql('postgres', "CREATE TABLE part$number AS SELECT i AS id, $number AS shard FROM generate_series(1, 300) i");
	$coordinator->safe_psql('postgres',
		"CREATE FOREIGN TABLE several$number PARTITION OF several FOR VALUES IN ($number) SERVER " . $shard->name . " OPTIONS (table_name 'part$number')");
}
my $several = open_session($coordinator);
my $locker = open_session($shards[0]);
sub read_some
{
	my ($name) = @_;
	is($several->query_safe("SET statement_timeout = '30s'; SELECT count(*) FROM (SELECT * FROM several LIMIT 150) x"), 150, "$name: LIMIT");
	is($several->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT id FROM several; MOVE 150 IN c; COMMIT; SELECT 1'), 1, "$name: cursor");
	is($several->{stderr}, '', "$name: no error");
	return;
}
is($several->query_safe('SELECT count(*), sum(id), count(DISTINCT shard) FROM (SELECT * FROM several OFFSET 0) x'), '1200|180600|4', 'all partitions of all sessions');
$locker->query_safe('BEGIN; LOCK TABLE part2');
read_some('the second partition of a session is locked');
$locker->query_safe('ROLLBACK');
$shards[0]->safe_psql('postgres', 'DROP TABLE part2');
read_some('it is not there');
$several->query('SELECT count(*) FROM (SELECT * FROM several OFFSET 0) x');
like($several->{stderr}, qr/relation "public.part2" does not exist/, 'which all rows tell');
$_->quit for $several, $locker;

# Otherwise in order, as postgres_fdw does.
$coordinator->safe_psql('postgres', "ALTER SERVER shard$_ OPTIONS (SET async_capable 'false')") for 1, 2;
like(read_gated(sub {
		ok($shards[0]->poll_query_until('postgres', "SELECT count(*) = 1 $at_gate"), 'the first shard computes its second portion');
		is($shards[1]->safe_psql('postgres', "SELECT count(*) $at_gate"), 0, 'the second one is not read before the first one is done');
	}), qr/^600\|90300\|2$/m, 'all rows, in order');

$_->quit for @gates;
done_testing();
