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

# Otherwise in order, as postgres_fdw does.
$coordinator->safe_psql('postgres', "ALTER SERVER shard$_ OPTIONS (SET async_capable 'false')") for 1, 2;
like(read_gated(sub {
		ok($shards[0]->poll_query_until('postgres', "SELECT count(*) = 1 $at_gate"), 'the first shard computes its second portion');
		is($shards[1]->safe_psql('postgres', "SELECT count(*) $at_gate"), 0, 'the second one is not read before the first one is done');
	}), qr/^600\|90300\|2$/m, 'all rows, in order');

$_->quit for @gates;
done_testing();
