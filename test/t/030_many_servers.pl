# A gather over several servers: all are asked and connected to at the same time,
# and each has its own way to fail.  Right results, and no more connections than
# the partitions are worth.
use strict;
use warnings;

use Exchange;
use Peer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $servers = 6;
my $shard = new_shard('shard', conf => "max_connections = 60\nlisten_addresses = '127.0.0.1'\n");
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
$shard->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
$coordinator->safe_psql('postgres', 'CREATE TABLE parts (id int, v text, part int) PARTITION BY LIST (part)');
for my $n (1 .. $servers)
{
	$shard->safe_psql('postgres', "CREATE DATABASE db$n");
	$shard->safe_psql("db$n", qq{
		CREATE EXTENSION pg_exchange;
		CREATE TABLE part AS SELECT i AS id, 'row ' || i AS v, $n AS part FROM generate_series(1, 500) i;
		CREATE TABLE more AS SELECT id, v, part + 100 AS part FROM part;
		GRANT SELECT ON part, more TO reader});
	add_server($coordinator, "s$n", $shard, dbname => "db$n", user_mapping => 0);
	$coordinator->safe_psql('postgres', qq{
		CREATE USER MAPPING FOR CURRENT_USER SERVER s$n OPTIONS (user 'reader', password_required 'false');
		CREATE FOREIGN TABLE part_$n PARTITION OF parts FOR VALUES IN ($n) SERVER s$n OPTIONS (table_name 'part');
		CREATE FOREIGN TABLE more_$n PARTITION OF parts FOR VALUES IN (10$n) SERVER s$n OPTIONS (table_name 'more')});
}
$coordinator->safe_psql('postgres', 'ANALYZE parts');

my $query = 'SELECT count(*), sum(id), count(DISTINCT part) FROM (SELECT * FROM parts OFFSET 0) p';
my $rows = 2 * $servers * 500;
my $right = join('|', $rows, 2 * $servers * 500 * 501 / 2, 2 * $servers);

# How the scans of a query travelled, "2 stream" for example; in one new session, after it has run once.
sub transports
{
	my ($settings) = @_;
	my $plan = $coordinator->safe_psql('postgres', ($settings // '') . "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM parts");
	my %seen;
	$seen{$1}++ while $plan =~ /^\s*Transport: (.*)$/mg;
	return join(', ', map { "$seen{$_} $_" } sort keys %seen);
}

sub connections
{
	my ($session) = @_;
	return $session->query_safe(q{SELECT count(*), min(streams), max(streams) FROM exchange.connections});
}

my $session = open_session($coordinator);
is($session->query_safe($query), $right, 'six servers: right rows');
is(connections($session), "$servers|2|2", 'one connection to each, which reads two partitions');
is($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'}), 2 * $servers,
	'each has two connections: one is of postgres_fdw');
is($session->query_safe($query), $right, 'again: right rows');
is(connections($session), "$servers|4|4", 'on the same connections');

# Each server may refuse us in its own way.
$shard->safe_psql('db2', 'DROP EXTENSION pg_exchange');
$shard->safe_psql('postgres', 'ALTER DATABASE db3 CONNECTION LIMIT 1');
$shard->safe_psql('db4', 'CREATE OR REPLACE FUNCTION public.nothing() RETURNS int LANGUAGE sql AS $$SELECT 1$$; ALTER TABLE more RENAME TO less;
	CREATE VIEW more AS SELECT id, v || left(now()::text, 0) AS v, part FROM less; GRANT SELECT ON more TO reader');
$session->quit;
my $waiting = $shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader'});
ok($waiting, 'the session has left');
is($coordinator->safe_psql('postgres', $query), $right, 'no extension, no connection, no stream: right rows');
my $how = transports();
like($how, qr/2 exchange v1, session \(could not connect: .*too many connections/, 'one connection is allowed: the session reads');
like($how, qr/1 exchange v1, session \(calls function "now"\)/, 'the time of the transaction: the session reads');
like($how, qr/2 postgres_fdw \(remote has no pg_exchange\)/, 'no extension: postgres_fdw reads');
like($how, qr/7 exchange v1, stream/, 'streams read the others');

# With an error in one of many, all come to rest.
$shard->safe_psql('db5', 'DROP TABLE more; CREATE VIEW more AS SELECT id, v, 105 + 1 / (id - 500) * 0 AS part FROM part; GRANT SELECT ON more TO reader');
$session = open_session($coordinator);
my (undef, $error) = $session->query($query);
like($session->{stderr}, qr/division by zero/, 'an error of one server');
$session->{stderr} = '';
is($session->query_safe("SELECT count(*) FROM (SELECT * FROM parts WHERE part <> 105 OFFSET 0) p"), $rows - 500, 'the session goes on');
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader' AND state LIKE '%transaction%'}),
	'no transaction is left');
$session->quit;

# A server that does not answer a stream's connection, while others do.
my $proxy = Peer->new('fault_proxy', $shard->port);
my $port = $proxy->port;
$coordinator->safe_psql('postgres', qq{ALTER SERVER s1 OPTIONS (SET host '127.0.0.1', SET port '$port', ADD connect_timeout '2')});
$shard->safe_psql('db5', 'CREATE OR REPLACE VIEW more AS SELECT id, v, 105 AS part FROM part');
$proxy->tell('harm', 'exchange', 'hold', 0);
my $started = time();
is($coordinator->safe_psql('postgres', $query), $right, 'a connection that stays silent: right rows');
within(10, $started, 'a connection that stays silent');
$proxy->tell('heal');

# A server that is not there: the error is postgres_fdw's.
$coordinator->safe_psql('postgres', q{ALTER SERVER s6 OPTIONS (SET port '1')});
my ($code, $out, $err) = $coordinator->psql('postgres', $query);
like($err, qr/could not connect to server "s6"/, 'a server that is not there');

done_testing();
