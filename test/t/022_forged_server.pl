# A server that says at any moment what no server would: a COPY, results, rows,
# notices or bytes without end, nothing, noise.  The query then fails or is read
# by postgres_fdw's session, within seconds; it can be cancelled; and the session
# goes on.  (What may be said in postgres_fdw's session is postgres_fdw's part.)
use strict;
use warnings;

use Exchange;
use Peer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\npg_exchange.remote_statistics = off\n");
$ENV{PG_VERSION_NUM} = $coordinator->safe_psql('postgres', 'SHOW server_version_num');
my $forged = Peer->new('forged_server');
add_server($coordinator, 'forged', $forged, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER forged OPTIONS (user 'postgres');
	CREATE FOREIGN TABLE numbers (i int) SERVER forged});

# By postgres_fdw, without an exchange, there are no rows.
my $rows = "1\n2\n3";
my $query = 'SELECT i FROM numbers;';
my $explain = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query";

# A new session's answer to the query, by psql, and when it was asked.
sub ask
{
	my ($timeout, $sql) = @_;
	my $started = time;
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSET statement_timeout = '$timeout';\n$sql",
		on_error_stop => 0, timeout => $PostgreSQL::Test::Utils::timeout_default);
	return ($out, $err, $started);
}

sub ask_and_cancel
{
	my ($sql) = @_;
	return cancel_meanwhile($coordinator, sub { return ask('180s', "SET application_name = 'to_cancel';\n$sql"); });
}

$forged->tell('honest');
is((ask('180s', $query))[0], $rows, 'the truth is believed');
is($forged->tell('seen'), 'configure genuine hello start snapshot prepare query commit', 'the coordinator comes to the moments in this order');

# Before the query: postgres_fdw's session reads.
for my $moment (qw(configure genuine hello start snapshot prepare))
{
	for my $lie (qw(copyout copyin copyboth empty complete results rows nothing noise fatal hangup error:XX000))
	{
		next if $lie eq 'complete' && $moment =~ /start|snapshot/;    # no lie
		$forged->tell('lie', $moment, $lie);
		my ($out, $err) = ask('180s', "$query\n$explain");
		like($out, qr/^$rows\n.*Transport: exchange v1, session \(/s, "$moment: $lie: all rows come by the session");
		unlike($out, qr/answer/, "$moment: $lie: nobody waits for another answer");
		is($err, '', "$moment: $lie: there is no error");
	}
}

# It may also take for ever: not longer than we wait for any server.
for my $moment (qw(login hello prepare sync))
{
	my @lies = $moment eq 'sync' ? 'nothing' : $moment eq 'login' ? 'silence' : qw(silence notices parameters bytes);
	for my $lie (@lies)
	{
		$forged->tell('lie', $moment, $lie);
		my ($out, $err, $started) = ask('180s', $query);
		is($out . $err, $rows, "$moment: $lie: all rows come without an error");
		within(10, $started, "$moment: $lie");
		($out, $err, $started) = ask_and_cancel($query);
		like($err, qr/ERROR:  57014:/, "$moment: $lie: the query can be cancelled");
		within(6, $started, "$moment: $lie, cancelled");
	}
}

# What the server tells about its tables is of use, but never needed.
my $estimated = "SET pg_exchange.remote_statistics = on;\n$query";
$forged->tell('honest');
is((ask('180s', $estimated))[0], $rows, 'all rows come with statistics');
is($forged->tell('seen'), 'configure genuine hello prepare statistics configure genuine hello start snapshot prepare query commit', 'the server is asked first, by a connection that is closed again');
for my $lie (qw(copyout copyin copyboth empty complete results rows textframes nothing noise fatal hangup error:XX000))
{
	$forged->tell('lie', 'statistics', $lie);
	my ($out, $err, $started) = ask('180s', $estimated);
	is($out . $err, $rows, "statistics: $lie: all rows come without an error");
	within(7, $started, "statistics: $lie");
}
for my $lie (qw(silence notices parameters bytes))
{
	$forged->tell('lie', 'statistics', $lie);
	my ($out, $err, $started) = ask('180s', $estimated);
	is($out . $err, $rows, "statistics: $lie: all rows come without an error");
	within(10, $started, "statistics: $lie");
	($out, $err, $started) = ask_and_cancel($estimated);
	like($err, qr/ERROR:  57014:/, "statistics: $lie: planning can be cancelled");
	within(6, $started, "statistics: $lie, cancelled");
}

# Instead of frames, or after them: an error.
for my $lie (qw(copyout copyin copyboth empty complete results rows textframes nothing noise fatal hangup))
{
	for my $first ('', 'truth')
	{
		next if $first && $lie =~ /^(rows|textframes|nothing)$/;
		$forged->tell('lie', 'query', $first, $lie);
		my ($out, $err, $started) = ask('180s', $query);
		my $sqlstate = $lie eq 'fatal' ? '(57P01|08006)' : $lie =~ /hangup|noise/ ? '08...' : '08P01';
		is($out, '', "query: $first $lie: no row comes");
		like($err, qr/ERROR:  $sqlstate:/, "query: $first $lie: there is an error");
		within(4, $started, "query: $first $lie");
	}
}
for my $lie (qw(silence notices parameters bytes))
{
	$forged->tell('lie', 'query', $lie);
	my ($out, $err, $started) = ask('500ms', $query);
	like($err, qr/ERROR:  57014:/, "query: $lie: the query can be cancelled");
	within(6, $started, "query: $lie, cancelled");
}

# Whatever comes after the last frame, and after COMMIT or ROLLBACK, costs the
# connection at most.
my $session = open_session($coordinator);
sub in_session
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
in_session('\set VERBOSITY verbose');
in_session("SET statement_timeout = '180s';");
for my $lie (qw(copyout copyin copyboth empty results rows noise fatal hangup error:XX000))
{
	$forged->tell('lie', 'commit', $lie);
	is(in_session($query), $rows, "commit: $lie: all rows come");
	my $started = time;
	is(in_session($query), $rows, "commit: $lie: all rows come again");
	is($session->{stderr}, '', "commit: $lie: there is no error");
	within(4, $started, "commit: $lie");

	$forged->tell('lie', 'rollback', $lie);
	in_session('SELECT 1 / (i - 2) FROM numbers;');
	like($session->{stderr}, qr/ERROR:  22012:/, "rollback: $lie: there is an error");
	$started = time;
	is(in_session($query), $rows, "rollback: $lie: all rows come");
	within(7, $started, "rollback: $lie");
}

# A cancel in the midst of anything leaves no connection that cannot be used.
for my $moment (qw(hello sync start snapshot prepare query))
{
	in_session('SELECT exchange.disconnect_all();');
	$forged->tell('lie', $moment, $moment eq 'sync' ? 'nothing' : 'silence');
	in_session("SET application_name = 'to_cancel';");
	cancel_meanwhile($coordinator, sub { in_session($query); });
	like($session->{stderr}, qr/ERROR:  57014:/, "cancel in $moment: the query ends");
	$forged->tell('honest');
	in_session("SET application_name = 'psql';");
	is(in_session($query), $rows, "cancel in $moment: the next query is an exchange");
	is($session->{stderr}, '', "cancel in $moment: there is no error");
}

# The plan, by plain EXPLAIN.
in_session('SET pg_exchange.explain_remote = on;');
$forged->tell('honest');
like(in_session("EXPLAIN (COSTS OFF) $query"), qr/Remote Plan:.*Result/s, 'EXPLAIN shows the remote plan');
for my $lie (qw(copyout copyin copyboth empty complete results rows noise fatal hangup error:XX000))
{
	$forged->tell('lie', 'explain', $lie);
	my $started = time;
	like(in_session("EXPLAIN (COSTS OFF) $query"), qr/ExchangeReceive/, "explain: $lie: EXPLAIN shows the local plan");
	is($session->{stderr}, '', "explain: $lie: there is no error");
	within(7, $started, "explain: $lie");
}

# Text that is no text, where it could be kept.
for my $moment (qw(configure genuine hello snapshot prepare))
{
	$forged->tell('lie', $moment, 'error:XX000');
	my ($out, $err) = ask('180s', $explain);
	like($out, qr/Transport: exchange v1, session \(.*forged \?\?\?\)/, "$moment: EXPLAIN shows bytes that are no text as ?");
}
$forged->tell('lie', 'query', 'error:PX002');
like((ask('180s', $explain))[0],
	qr/Transport: exchange v1, session \(forged \?\?\?\)/, 'a declined stream shows bytes that are no text as ?');
$forged->tell('lie', 'query', 'error:XX000');
like((ask('180s', $query))[1], qr/ERROR:  XX000: forged \?\?\?/, 'an error shows bytes that are no text as ?');
$session->quit;

ok($coordinator->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'}),
	'no backend is left behind');
unlike(slurp_file($coordinator->logfile), qr/terminated by signal|PANIC/, 'no backend has crashed');
done_testing();
