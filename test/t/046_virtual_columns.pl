# Columns that are computed when they are read (PostgreSQL 18): a subquery that
# is turned into a join does not compute them for other rows than before.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator');
plan skip_all => 'before PostgreSQL 18 there are none' if $coordinator->safe_psql('postgres', 'SHOW server_version_num') < 180000;

$shard->safe_psql('postgres', 'CREATE TABLE stored AS SELECT i % 50 AS a, i AS b FROM generate_series(1, 3000) i; ANALYZE stored');
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE far (a int, b int, q int GENERATED ALWAYS AS (1000 / a) VIRTUAL) SERVER shard OPTIONS (table_name 'stored');
	CREATE TABLE near (a int, b int, q int GENERATED ALWAYS AS (100 / a) VIRTUAL);
	INSERT INTO near SELECT i % 50, i FROM generate_series(0, 500) i;
	ANALYZE near});
foreach my $query (
	'SELECT count(*) FROM far o WHERE o.a > 0 AND o.b > (SELECT max(i.b) FROM far i WHERE i.a = o.a AND i.q > 20)',
	'SELECT count(*) FROM far o WHERE o.a > 0 AND o.b * 1.0 < (SELECT avg(i.q) FROM near i WHERE i.a = o.a)',
	'SELECT count(*) FROM far o WHERE o.a > 0 AND o.q > 20')
{
	is($coordinator->safe_psql('postgres', $query), $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $query"), $query);
}
done_testing();
