# A remote of another version: what its hello says decides whether there is an
# exchange, and of what; what it sends must be what was agreed on.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard');
# What is named real_ is the function of exchange that is about to change.
$shard->safe_psql('postgres', q{
	CREATE FUNCTION exchange.real_hello(text) RETURNS text AS '$libdir/pg_exchange', 'px_sql_hello' LANGUAGE C STRICT;
	CREATE FUNCTION exchange.real_admit(text, text, boolean) RETURNS text AS '$libdir/pg_exchange', 'px_sql_admit' LANGUAGE C;
	CREATE TABLE events AS
		SELECT i AS id, 'event ' || i AS name, i * interval '1 hour' AS span, date '2020-02-03' + i AS day
		FROM generate_series(1, 20000) i;
	CREATE TABLE nothing (id int)});

let_lie($shard);

my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text, span interval, day date) SERVER shard;
	CREATE FOREIGN TABLE nothing (id int) SERVER shard;
});

# Have the hello of the shard's streams be this SQL expression of the real one.
sub stream_hello
{
	my ($expression) = @_;
	$shard->safe_psql('postgres', qq{
		CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql
			AS \$\$SELECT $expression FROM exchange.real_hello(hello) real\$\$});
}

# Have that of postgres_fdw's session, which begins its admissions, be the same.
sub hello
{
	my ($expression) = @_;
	stream_hello($expression);
	$shard->safe_psql('postgres', qq{
		CREATE OR REPLACE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql
			AS \$\$SELECT (SELECT $expression FROM substring(admission, '^(.*) pid=') real) || substring(admission, ' pid=.*')
				FROM exchange.real_admit(hello, query, want_snapshot) admission\$\$});
}

# The hello with the value of one key replaced.
sub hello_with
{
	my ($key, $value) = @_;
	hello("regexp_replace(real, '$key=[^ ]*', '$key=$value')");
}

my $scan = 'SELECT count(*), sum(id), count(DISTINCT name), max(span), max(day) FROM (SELECT * FROM events OFFSET 0) x';
my $rows = $shard->safe_psql('postgres', $scan);

# A new session gets all rows in this way.
sub goes_by
{
	my ($transport, $name, %options) = @_;
	my $settings = 'SET pg_exchange.compression = ' . ($options{mode} // 'auto');
	my $out = $coordinator->safe_psql('postgres', "$settings; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events; $scan");
	like(label('Transport', $out), qr/^$transport$/, "$name: EXPLAIN names the transport");
	is(label('Compression', $out), $options{compression}, "$name: EXPLAIN names the compression") if $options{compression};
	is((split(/\n/, $out))[-1], $rows, "$name: all rows come");
}

sub not_by_stream
{
	my ($reason, $name) = @_;
	goes_by(qr/exchange v1, session \($reason\)/, $name);
}

# An answer that is none is an error.
sub is_invalid
{
	my ($name) = @_;
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\n$scan");
	is($out, '', "$name: no row comes");
	like($err, qr/ERROR:  08P01: invalid response from server "shard"/, "$name: there is an error");
}

sub not_by_exchange
{
	my ($reason, $name) = @_;
	goes_by(qr/postgres_fdw \($reason\)/, $name);
}

hello('real');
goes_by('exchange v1, stream', 'the real hello');

# Protocol versions.
hello_with('protocol', '1-9');
goes_by('exchange v1, stream', 'a later remote that speaks version 1');
hello_with('protocol', '2-9');
not_by_exchange('no common protocol version: here 1 to 1, remote 2 to 9', 'a later remote that does not');
for my $range ('9-1', '0-1', '1', '1-65536', '-1-1')
{
	hello_with('protocol', $range);
	is_invalid("protocol $range");
}

# What later versions may add.
hello(q{'future=yes ' || real || ' later=1,2;3 empty='});
goes_by('exchange v1, stream', 'unknown keys');
for my $set ('codecs', 'encodings')
{
	hello_with($set, 4294967295);
	goes_by('exchange v1, stream', "unknown $set");
}

# A remote that knows less.
hello_with('codecs', 1);
goes_by('exchange v1, stream', 'no codecs', mode => 'fast', compression => 'FAST (none)');
goes_by('exchange v1, stream', 'no codecs', mode => 'high_compression', compression => 'HIGH_COMPRESSION (none)');
hello_with('codecs', 3);
goes_by('exchange v1, stream', 'lz4 alone', mode => 'fast', compression => 'FAST (lz4)');
goes_by('exchange v1, stream', 'lz4 alone', mode => 'high_compression', compression => 'HIGH_COMPRESSION (none)');
hello_with('encodings', 1);
goes_by('exchange v1, stream', 'one encoding', mode => 'fast', compression => 'FAST (lz4)');

# Other servers, whose intervals are alike: with infinity, since 17, or without.
for my $version ($shard->pg_version >= 17 ? (170099, 990000) : (140000, 160099))
{
	hello_with('server_version', $version);
	goes_by('exchange v1, stream', "server version $version");
}
hello_with('encoding', 'EUC_JIS_2004');
goes_by('exchange v1, stream', 'another encoding');
hello_with('endian', 'big');
not_by_exchange('architecture is not little-endian', 'big-endian');
hello_with('export', 0);
not_by_stream('remote user may not call pg_export_snapshot', 'no snapshots');

# No hello at all.
for my $bad (q{NULL::text}, q{''}, q{'hi'}, q{real || ' '}, q{real || ' protocol=1-1'}, q{replace(real, ' export=1', '')},
	q{real || ' later=' || repeat('x', 512)}, q{real || ' =x'}, q{replace(real, ' ', '  ')}, q{upper(real)})
{
	hello('real');
	stream_hello($bad);
	not_by_stream(q{remote's hello is malformed}, "hello of $bad");
	hello($bad);
	is_invalid("admission with hello of $bad");
}
hello('real');
$shard->safe_psql('postgres', q{
	CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE plpgsql
		AS $$BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = 'PX123'; END$$});
not_by_stream('hello failed: not today', 'hello with an error');
$shard->safe_psql('postgres', q{
	CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql AS $$SELECT pg_sleep(600)::text$$});
not_by_stream('hello failed: no answer', 'hello that takes for ever');
ok($shard->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND state <> 'idle'}),
	'a hello that takes for ever is not left running');
hello('real');

# The reason is remembered by a session until the server changes; the
# extension may go and come in mid-session.
my $session = open_session($coordinator);
sub way
{
	return label('Transport', $session->query('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;'));
}
is(way(), 'exchange v1, stream', 'a session has the rows');
$shard->safe_psql('postgres', 'ALTER SCHEMA exchange RENAME TO hidden');
like(way(), qr/^postgres_fdw \(/, 'where pg_exchange has gone from the remote, postgres_fdw reads');
is($session->query("$scan;"), $rows, 'with all rows');
is($session->{stderr}, '', 'that is no error');
$shard->safe_psql('postgres', 'ALTER SCHEMA hidden RENAME TO exchange');
$coordinator->safe_psql('postgres', q{ALTER SERVER shard OPTIONS (ADD fetch_size '1000')});
is(way(), 'exchange v1, stream', 'the exchange is back when the server was altered');
$session->quit;

# A remote that says one thing and sends another: an error, never other rows.
# One that pretends to be of another side of 17, but sends intervals as this one has them:
hello_with('server_version', $shard->pg_version >= 17 ? 150000 : 190000);
{
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT span FROM events");
	is($out, '', 'intervals of another version: no row comes');
	like($err, qr/ERROR:  08P01: invalid frame from server "shard"/, 'intervals of another version: there is an error');
}
hello('real');

# A function in the place of exchange.send is not called where the library is
# loaded: the session reads.  One in the place of send_text is an error.  (What
# a remote without the library may say is in 015_lying_remote.pl.)
$shard->safe_psql('postgres', q{
	CREATE TABLE called (by text);
	CREATE OR REPLACE FUNCTION exchange.send(request text, "row" record) RETURNS bytea LANGUAGE plpgsql
		AS $$BEGIN INSERT INTO public.called VALUES ('send'); RETURN NULL; END$$});
not_by_stream('remote backend has not loaded pg_exchange', 'another function send');
$shard->safe_psql('postgres', q{
	CREATE OR REPLACE FUNCTION exchange.send_text(request text, "row" record) RETURNS text LANGUAGE plpgsql
		AS $$BEGIN INSERT INTO public.called VALUES ('send_text'); RETURN NULL; END$$});
{
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT id FROM events");
	is($out, '', 'another function send_text: no row comes');
	like($err, qr/ERROR:  PX001: function exchange.send_text.* is not that of pg_exchange/, 'another function send_text: there is an error');
}
is($shard->safe_psql('postgres', 'SELECT count(*) FROM called'), 0, 'neither function was called');

done_testing();
