# A join by HashPartition whose frequent keys are to be spread, and a server, or
# a connection, of a pg_exchange that does not know how: the rows are the same.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map { new_shard("shard$_") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.join_exchange = hash_partition\n");
$coordinator->safe_psql('postgres', q{
	CREATE TABLE facts (nr int, k int) PARTITION BY RANGE (nr);
	CREATE TABLE names (nr int, k int, name text) PARTITION BY RANGE (nr)});
foreach my $i (1, 2)
{
	my $range = "generate_series($i * 1000 - 999, $i * 1000) i";
	$shards[$i - 1]->safe_psql('postgres', qq{
		CREATE TABLE facts_$i AS SELECT i AS nr, CASE WHEN i % 10 < 7 THEN 7 ELSE i END AS k FROM $range;
		CREATE TABLE names_$i AS SELECT i AS nr, 2001 - i AS k, md5((i % 5)::text) AS name FROM $range});
	add_server($coordinator, "shard$i", $shards[$i - 1]);
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE $_\_$i PARTITION OF $_ FOR VALUES FROM ($i * 1000 - 999) TO ($i * 1000 + 1) SERVER shard$i}) for 'facts', 'names';
}
$coordinator->safe_psql('postgres', 'ANALYZE facts, names');
my $query = 'SELECT n.name, count(*), sum(f.nr) FROM facts f JOIN names n ON n.k = f.k GROUP BY 1 ORDER BY 1';
my $rows = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $query");

sub is_joined
{
	my ($name, $like, $unlike, $most) = @_;
	my $plan = $coordinator->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, VERBOSE) $query");
	like($plan, $like, "$name: EXPLAIN tells");
	unlike($plan, $unlike, "$name: EXPLAIN does not tell");
	my ($largest) = sort { $b <=> $a } $plan =~ /Sent: (\d+) rows/g;
	cmp_ok($largest, $most > 0 ? '<' : '>', abs($most), "$name: rows of the server that gets most of them") if $most;
	is($coordinator->safe_psql('postgres', $query), $rows, "$name: the rows come");
	return;
}
is_joined('both know', qr/Frequent Keys: 1\n.*THEN '-2'.*THEN '-1'/s, qr/Not Spread|Not Sent/, 2200);

# What is named real_ is the function of exchange that is about to change.
$shards[1]->safe_psql('postgres', q{
	CREATE FUNCTION exchange.real_hello(text) RETURNS text AS '$libdir/pg_exchange', 'px_sql_hello' LANGUAGE C STRICT;
	CREATE FUNCTION exchange.real_admit(text, text, boolean) RETURNS text AS '$libdir/pg_exchange', 'px_sql_admit' LANGUAGE C});
let_lie($shards[1]);
sub say_of_streams
{
	my ($expression) = @_;
	$shards[1]->safe_psql('postgres', qq{
		CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql AS \$\$SELECT $expression FROM exchange.real_hello(hello) said\$\$});
	return;
}
sub say_of_sessions
{
	my ($expression) = @_;
	$shards[1]->safe_psql('postgres', qq{
		CREATE OR REPLACE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql
			AS \$\$SELECT $expression FROM exchange.real_admit(hello, query, want_snapshot) said\$\$});
	return;
}
my $older = "replace(said, ' spread=1', '')";

say_of_streams('said');
say_of_sessions('said');
is_joined('both know, by the functions that change', qr/Frequent Keys: 1\n/, qr/Not Spread|Not Sent/, 2200);

say_of_streams($older);
say_of_sessions($older);
is_joined('one server is older', qr/Frequent Keys: 1\n *Not Spread: a server has an older pg_exchange\n/, qr/Not Sent|THEN '-/, -2200);

# The library of a connection is the one that was there when it was begun.
say_of_sessions('said');
is_joined('a connection is older', qr/Not Sent: a connection is one of an older pg_exchange\n/, qr/Not Spread/);

say_of_streams('said');
is_joined('it was updated', qr/Frequent Keys: 1\n.*THEN '-2'.*THEN '-1'/s, qr/Not Spread|Not Sent/, 2200);

# What an index makes cheap is left to the session of a shard that says so. An
# older one does not: it is read by a stream.
$shards[1]->safe_psql('postgres', q{
	CREATE TABLE looked_up AS SELECT i AS id, i % 1000 AS k, repeat('v', 60) AS v FROM generate_series(1, 20000) i;
	CREATE INDEX ON looked_up (k);
	ANALYZE looked_up});
$coordinator->safe_psql('postgres', 'CREATE FOREIGN TABLE looked_up (id int, k int, v text) SERVER shard2; ANALYZE looked_up');
sub transport_of_lookup
{
	my $plan = $coordinator->safe_psql('postgres', q{
		SET pg_exchange.min_bytes = '64kB';
		SET seq_page_cost = 20;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*), min(id) FROM looked_up WHERE k = 7});
	return $plan =~ /Transport: (.*)/ ? $1 : $plan;
}
is(transport_of_lookup(), 'postgres_fdw (few rows are expected)', 'a shard says what a query costs');
say_of_sessions(q{regexp_replace(said, ' cost=\d+', '')});
is(transport_of_lookup(), 'exchange v1, stream', 'an older one does not');

$_->stop for $coordinator, @shards;
done_testing();
