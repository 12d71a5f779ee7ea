# Joins by HashPartition where the network between two servers says nothing:
# while a server asks whether it can pull, and in mid-pull.  Time-outs are those
# that the query would have without, and the rows are right.
use strict;
use warnings;

use Exchange;
use Peer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my @shards = map { new_shard("shard$_", extensions => [ 'postgres_fdw', 'pg_exchange' ], conf => "listen_addresses = '127.0.0.1'\npg_exchange.join_pull = on\n") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.join_exchange = hash_partition\npg_exchange.join_pull = on\npg_exchange.compression = none\n");
my $proxy = Peer->new('fault_proxy', $shards[1]->port);

$coordinator->safe_psql('postgres', q{
	CREATE TABLE items (nr int, code int, note text) PARTITION BY RANGE (nr);
	CREATE TABLE orders (id int, code int) PARTITION BY RANGE (id)});
foreach my $i (1, 2)
{
	$shards[ $i - 1 ]->safe_psql('postgres', qq{
		CREATE TABLE items_$i AS SELECT i AS nr, i % 900 AS code, md5(i::text) AS note FROM generate_series($i * 5000 - 4999, $i * 5000) i;
		CREATE TABLE orders_$i AS SELECT i AS id, i * 7 % 900 AS code FROM generate_series($i * 5000 - 4999, $i * 5000) i;
		ANALYZE});
	add_server($coordinator, "shard$i", $shards[ $i - 1 ], options => "fetch_size '1000', fdw_tuple_cost '0.01'");
	my ($from, $to) = ($i * 5000 - 4999, $i * 5000 + 1);
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE items_$i PARTITION OF items FOR VALUES FROM ($from) TO ($to) SERVER shard$i;
		CREATE FOREIGN TABLE orders_$i PARTITION OF orders FOR VALUES FROM ($from) TO ($to) SERVER shard$i;
		SET pg_exchange.enabled = off;
		ANALYZE items_$i, orders_$i});
}
add_server($shards[0], 'shard2', $proxy);
add_server($shards[1], 'shard1', $shards[0]);
my $query = 'SELECT count(*), sum(length(i.note)), sum(o.id) FROM orders o JOIN items i ON i.code = o.code';
my $rows = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $query");

# The rows, in a session of its own with these settings, are right; what EXPLAIN
# says then.
sub explain
{
	my ($name, @settings) = @_;
	my $session = open_session($coordinator);
	$session->query($_) for @settings;
	is($session->query($query), $rows, "$name: the rows are right");
	my $plan = $session->query("EXPLAIN (ANALYZE, COSTS OFF) $query");
	is($session->{stderr}, '', "$name: there is no error");
	$session->quit;
	return $plan;
}
sub set_on_shards
{
	my (@settings) = @_;
	foreach my $shard (@shards)
	{
		$shard->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET ALL', map { "ALTER SYSTEM SET $_" } @settings;
		$shard->reload;
	}
	return;
}

like(explain('all is well'), qr/Pulled: 8 of 8 links/, 'all is well: rows are pulled');

# ---- a server that is asked ---------------------------------------------------

$proxy->tell('harm', 'exchange', 'hold', 0);
my $no_way = qr/Pulled: 4 of 8 links.*Not Pulled: server shard1 has no way to server shard2/s;
like(explain('silent', "SET statement_timeout = '4500ms'"), $no_way, 'silent: half of what is left of statement_timeout is waited for');
set_on_shards(q{statement_timeout = '4500ms'});
like(explain('silent, and a time-out of the servers'), $no_way, 'silent, and a time-out of the servers: it is waited for so long there');
set_on_shards(q{idle_in_transaction_session_timeout = '4500ms'});
like(explain('silent, and the sessions must not be idle'), $no_way, 'silent, and the sessions must not be idle: they are not so long');

# The coordinator's own connections to a server.
$coordinator->safe_psql('postgres', sprintf(q{ALTER SERVER shard2 OPTIONS (SET host '127.0.0.1', SET port '%s')}, $proxy->port));
like(explain('a server is silent, and the sessions must not be idle'), qr/Transport: exchange v1, session \(a session did not answer/, 'a server is silent, and the sessions must not be idle: they are not so long');
like(explain('a server is silent', "SET statement_timeout = '8s'"), qr/Transport: exchange v1, session \(a session did not answer/, 'a server is silent: half of what is left of statement_timeout is waited for');
set_on_shards();
$proxy->tell('heal');
$coordinator->safe_psql('postgres', sprintf(q{ALTER SERVER shard2 OPTIONS (SET host '%s', SET port '%s')}, $shards[1]->host, $shards[1]->port));

# ---- in mid-pull ----------------------------------------------------------------

$proxy->tell('harm', 'exchange', 'hold', 20000);
my $started = time();
my $session = open_session($coordinator);
like($session->query("EXPLAIN (ANALYZE, COSTS OFF) $query"), qr/Not Sent: shard1: (server "shard2" has sent nothing for 10 seconds|could not pull rows from server "shard2")/, 'silent in mid-pull: EXPLAIN says so');
is($session->query($query), $rows, 'silent in mid-pull: the rows are right');
is($session->{stderr}, '', 'silent in mid-pull: there is no error');
within(20, $started, 'silent in mid-pull');
$session->quit;
$proxy->tell('heal');

done_testing();
