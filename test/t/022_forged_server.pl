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

my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
$ENV{PG_VERSION_NUM} = $coordinator->safe_psql('postgres', 'SHOW server_version_num');
my $forged = Peer->new('forged_server');
add_server($coordinator, 'forged', $forged, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER forged OPTIONS (user 'postgres');
	CREATE FOREIGN TABLE numbers (i int) SERVER forged});

# By postgres_fdw, without an exchange, there are no rows.
my $rows = "1\n2\n3";
my $query = 'SELECT i FROM numbers;';

# A new session's answer to the query, by psql, and how long it took.
sub ask
{
	my ($timeout, $sql) = @_;
	my $begin = time;
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSET statement_timeout = '$timeout';\n$sql",
		on_error_stop => 0, timeout => 60);
	return ($out, $err, time - $begin);
}

$forged->tell('honest');
is((ask('10s', $query))[0], $rows, 'the truth');
is($forged->tell('seen'), 'configure genuine hello start snapshot prepare query commit', 'in this order');

# Before the query: postgres_fdw's session reads.
for my $moment (qw(configure genuine hello start snapshot prepare))
{
	for my $lie (qw(copyout copyin copyboth empty complete results rows nothing noise fatal hangup error:XX000))
	{
		next if $lie eq 'complete' && $moment =~ /start|snapshot/;    # no lie
		$forged->tell('lie', $moment, $lie);
		my ($out, $err, $seconds) = ask('10s', $query);
		is($out, $rows, "$moment: $lie: rows");
		is($err, '', "$moment: $lie: no error");
		cmp_ok($seconds, '<', 4, "$moment: $lie: at once");
	}
}

# It may also take for ever: not longer than we wait for any server.
for my $moment (qw(login hello prepare sync))
{
	my @lies = $moment eq 'sync' ? 'nothing' : $moment eq 'login' ? 'silence' : qw(silence notices parameters bytes);
	for my $lie (@lies)
	{
		$forged->tell('lie', $moment, $lie);
		my ($out, $err, $seconds) = ask('30s', $query);
		is($out . $err, $rows, "$moment: $lie: rows, and no error");
		cmp_ok($seconds, '<', 15, "$moment: $lie: soon");
		($out, $err, $seconds) = ask('500ms', $query);
		like($err, qr/ERROR:  57014:/, "$moment: $lie: can be cancelled");
		cmp_ok($seconds, '<', 7, "$moment: $lie: at once");
	}
}

# Instead of frames, or after them: an error.
for my $lie (qw(copyout copyin copyboth empty complete results rows textframes nothing noise fatal hangup))
{
	for my $first ('', 'truth')
	{
		next if $first && $lie =~ /^(rows|textframes|nothing)$/;
		$forged->tell('lie', 'query', $first, $lie);
		my ($out, $err, $seconds) = ask('10s', $query);
		my $sqlstate = $lie eq 'fatal' ? '(57P01|08006|08P01)' : $lie =~ /hangup|noise/ ? '08...' : '08P01';
		is($out, '', "query: $first $lie: no rows");
		like($err, qr/ERROR:  $sqlstate:/, "query: $first $lie: an error");
		cmp_ok($seconds, '<', 4, "query: $first $lie: at once");
	}
}
for my $lie (qw(silence notices parameters bytes))
{
	$forged->tell('lie', 'query', $lie);
	my ($out, $err, $seconds) = ask('500ms', $query);
	like($err, qr/ERROR:  57014:/, "query: $lie: can be cancelled");
	cmp_ok($seconds, '<', 7, "query: $lie: at once");
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
in_session("SET statement_timeout = '10s';");
for my $lie (qw(copyout copyin copyboth empty results rows noise fatal hangup error:XX000))
{
	$forged->tell('lie', 'commit', $lie);
	is(in_session($query), $rows, "commit: $lie: rows");
	my $begin = time;
	is(in_session($query), $rows, "commit: $lie: again");
	is($session->{stderr}, '', "commit: $lie: without an error");
	cmp_ok(time - $begin, '<', 4, "commit: $lie: at once");

	$forged->tell('lie', 'rollback', $lie);
	in_session('SELECT 1 / (i - 2) FROM numbers;');
	like($session->{stderr}, qr/ERROR:  22012:/, "rollback: $lie: an error");
	$begin = time;
	is(in_session($query), $rows, "rollback: $lie: rows");
	cmp_ok(time - $begin, '<', 7, "rollback: $lie: at once");
}

# A cancel in the midst of anything leaves no connection that cannot be used.
for my $moment (qw(hello sync start snapshot prepare query))
{
	in_session('SELECT exchange.disconnect_all();');
	$forged->tell('lie', $moment, $moment eq 'sync' ? 'nothing' : 'silence');
	in_session("SET statement_timeout = '500ms';");
	in_session($query);
	like($session->{stderr}, qr/ERROR:  57014:/, "cancel in $moment");
	$forged->tell('honest');
	in_session("SET statement_timeout = '10s';");
	is(in_session($query), $rows, "cancel in $moment: the next query is an exchange");
	is($session->{stderr}, '', "cancel in $moment: without an error");
}

# The plan, by plain EXPLAIN.
in_session('SET pg_exchange.explain_remote = on;');
my $explain = "EXPLAIN (COSTS OFF) $query";
$forged->tell('honest');
like(in_session($explain), qr/Remote Plan:.*Result/s, 'a plan');
for my $lie (qw(copyout copyin copyboth empty complete results rows noise fatal hangup error:XX000))
{
	$forged->tell('lie', 'explain', $lie);
	my $begin = time;
	like(in_session($explain), qr/ExchangeReceive/, "explain: $lie: the local plan");
	is($session->{stderr}, '', "explain: $lie: without an error");
	cmp_ok(time - $begin, '<', 7, "explain: $lie: at once");
}

# Text that is no text, where it could be kept.
for my $moment (qw(configure genuine hello snapshot prepare))
{
	$forged->tell('lie', $moment, 'error:XX000');
	my ($out, $err) = ask('10s', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query");
	like($out, qr/Transport: exchange v1, session \(.*forged \?\?\?\)/, "$moment: bytes that are no text");
}
$forged->tell('lie', 'query', 'error:PX002');
like((ask('10s', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query"))[0],
	qr/Transport: exchange v1, session \(forged \?\?\?\)/, 'declined by bytes that are no text');
$forged->tell('lie', 'query', 'error:XX000');
like((ask('10s', $query))[1], qr/ERROR:  XX000: forged \?\?\?/, 'an error of bytes that are no text');
$session->quit;

ok($coordinator->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'}),
	'no backend is left behind');
unlike(slurp_file($coordinator->logfile), qr/terminated by signal|PANIC/, 'none has crashed');
done_testing();
