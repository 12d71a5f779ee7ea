# Streams leave the last connections of a server to postgres_fdw, whose query
# would fail without one.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# 28 connections for users; no stream begins with fewer than 3 free ones of these.
my $shard = new_shard('shard', conf => "max_connections = 30\nsuperuser_reserved_connections = 2\n");
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
$shard->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
add_server($coordinator, 'shard', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'reader', password_required 'false');
	CREATE TABLE t (p int, k int) PARTITION BY LIST (p)});
for my $p (1 .. 4)
{
	$shard->safe_psql('postgres', "CREATE TABLE t$p AS SELECT $p AS p, k FROM generate_series(1, 5000) k; GRANT SELECT ON t$p TO reader; ANALYZE t$p");
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE t_$p PARTITION OF t FOR VALUES IN ($p) SERVER shard OPTIONS (table_name 't$p')");
}
$coordinator->safe_psql('postgres', 'ANALYZE t');
my $scan = 'SELECT count(*), sum(k) FROM (SELECT * FROM t OFFSET 0) x';
my $rows = '20000|' . 4 * 5000 * 5001 / 2;
my $explain = 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM t_1';

# Sessions that stay, each after such a scan; what went wrong.
sub sessions
{
	my ($n, $enabled, $sessions) = @_;
	my @wrong;
	for my $i (1 .. $n)
	{
		my $session = open_session($coordinator);
		my $answer = $session->query("SET pg_exchange.enabled = $enabled; $scan;");
		push @wrong, "$i: $answer $session->{stderr}" if $answer ne $rows;
		push @$sessions, $session;
	}
	return join("\n", @wrong);
}
sub wait_for_none
{
	# from a database that has no limit
	return $shard->poll_query_until('template1', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader'});
}

for my $enabled ('off', 'on')
{
	my @sessions;
	is(sessions(15, $enabled, \@sessions), '', "15 sessions stay, with pg_exchange.enabled = $enabled");
	is($sessions[-1]->query_safe("SET pg_exchange.enabled = $enabled; $scan"), $rows, 'and go on');
	$_->quit for @sessions;
	ok(wait_for_none(), 'they end');
}

my @sessions;
sessions(1, 'on', \@sessions);
cmp_ok($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'}), '>', 1, 'streams stay idle');
my $reader = open_session($coordinator);
$reader->query_safe("$explain; SELECT exchange.disconnect_all()");
my @others;

# Have n connections to the shard, of all users.
sub fill
{
	my ($n) = @_;
	my $used = $shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
	push @others, map { open_session($shard) } $used + 1 .. $n;
	return;
}
fill(27);
my $few = 'exchange v1, session (few connections are free on the server)';
my $offset = -s $shard->logfile;
is(label('Transport', $reader->query_safe($explain)), $few, 'few are free: the session reads');
unlike(slurp_file($shard->logfile, $offset), qr/SELECT exchange\.hello/, 'without asking for a connection');
$_->quit for @others;
ok($shard->poll_query_until('postgres', q{SELECT count(*) < 15 FROM pg_stat_activity WHERE backend_type = 'client backend'}), 'they go');
is(label('Transport', $reader->query_safe($explain)), 'exchange v1, stream', 'and a stream, once they have gone');
$_->quit for @sessions, $reader;
wait_for_none();

# The limits of a role, and of a database, are looked at, too: there is a place for another session.
for my $limited ('ROLE reader', 'DATABASE postgres')
{
	$shard->safe_psql('template1', "ALTER $limited CONNECTION LIMIT 2");
	my ($one, $other) = map { open_session($coordinator) } 1 .. 2;
	is(label('Transport', $one->query_safe($explain)), 'exchange v1, stream', "$limited CONNECTION LIMIT 2: there is a stream");
	$shard->poll_query_until('template1', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'reader'});
	is($other->query($scan), $rows, "$limited CONNECTION LIMIT 2: but it does not stay");
	is($other->{stderr}, '', "$limited CONNECTION LIMIT 2: and another session can read");
	$_->quit for $one, $other;
	$shard->safe_psql('template1', "ALTER $limited CONNECTION LIMIT -1");
	wait_for_none();
}

done_testing();
