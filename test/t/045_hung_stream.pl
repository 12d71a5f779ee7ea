# A statement ends while the streams of several servers run. One whose process
# hangs is waited for, but only when all have been told to stop: the others do
# not run on meanwhile.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Three servers that are one instance: its log has the requests to cancel in
# the order in which they came.
my $shard = new_shard('shard', conf => "log_min_messages = debug2\n");
my $coordinator = new_coordinator('coordinator');
$shard->safe_psql('postgres', q{
	CREATE FUNCTION nap(int) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT pg_sleep(600)::text'});
$coordinator->safe_psql('postgres', 'CREATE TABLE t (id int, filler text) PARTITION BY LIST (id)');
foreach my $number (1 .. 3)
{
	$shard->safe_psql('postgres', "CREATE VIEW slow$number AS SELECT $number AS id, nap(i) AS filler FROM generate_series(1, 1) i");
	add_server($coordinator, "shard$number", $shard, options => "connect_timeout '2'");
	$coordinator->safe_psql('postgres',
		"CREATE FOREIGN TABLE t$number PARTITION OF t FOR VALUES IN ($number) SERVER shard$number OPTIONS (table_name 'slow$number')");
}
my $napping = "FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND wait_event = 'PgSleep'";

# A test that fails must not leave a stopped process.
my $stopped;
END
{
	kill('CONT', $stopped) if $stopped;
}

# Whichever hangs: there is no telling in what order they are looked at.
foreach my $number (1 .. 3)
{
	my $name = "shard$number hangs";
	my $session = open_session($coordinator);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/sent/, "\\set VERBOSITY verbose\n\\echo sent\nSELECT * FROM t;\n");
	$shard->poll_query_until('postgres', "SELECT count(*) = 3 $napping") or die 'no streams';
	$stopped = $shard->safe_psql('postgres', "SELECT pid $napping AND query ~ 'slow$number'");
	kill('STOP', $stopped);
	my $place = -s $shard->logfile;
	$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$session->query('');
	like($session->{stderr}, qr/ERROR:  57014: /, "$name: the query is cancelled");
	my @told = slurp_file($shard->logfile, $place) =~ /processing cancel request: sending SIGINT to process (\d+)/g;
	my %first = map { $_ => 1 } @told[ 0 .. 2 ];
	is(scalar keys %first, 3, "$name: all are told before one is told again") or diag("told: @told");
	cmp_ok(scalar @told, '>', 3, "$name: it is told again") or diag("told: @told");
	ok($shard->poll_query_until('postgres', "SELECT count(*) = 1 $napping"), "$name: the others do not run any more");
	kill('CONT', $stopped);
	$stopped = undef;
	ok($shard->poll_query_until('postgres', "SELECT count(*) = 0 $napping"), "$name: nothing is left running");
	$session->quit;
}
done_testing();
