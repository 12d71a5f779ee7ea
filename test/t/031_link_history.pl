# What one session has measured of a link, others begin with: with shared
# memory, for the same server as it is now, and not for long.
#
# A link of a known rate takes a remote that lies, as in 015_lying_remote.pl:
# it says in the end frame what the test wants.  Its log has the rates with
# which streams begin: each safe_psql is a session that knows nothing itself.
use strict;
use warnings;

use Exchange;
use Frame;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $liar = new_shard('liar', extensions => [], conf => "allow_system_table_mods = on\nlog_statement = all\n");
my $version_num = $liar->safe_psql('postgres', 'SHOW server_version_num');
my $gate = make_gate($liar);
$liar->safe_psql('postgres', qq{
	CREATE SCHEMA exchange;
	INSERT INTO pg_extension SELECT 99999, 'pg_exchange', 10, oid, false, '1.1' FROM pg_namespace WHERE nspname = 'exchange';
	CREATE TABLE forged (seq int, frame bytea);
	CREATE VIEW lie AS SELECT NULL::text AS name;
	CREATE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql
		AS \$\$SELECT 'protocol=1-1 codecs=7 encodings=16383 endian=little encoding=UTF8 server_version=$version_num instance=0123456789abcdef0123456789abcdef export=1'\$\$;
	CREATE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql VOLATILE
		AS \$\$SELECT exchange.hello(hello) || ' pid=' || pg_backend_pid() || ' session=0123456789abcdef snapshot='
			|| CASE WHEN want_snapshot THEN pg_export_snapshot() ELSE '-' END || ' idle=0 against='\$\$;
	CREATE FUNCTION exchange.send(request text, "row" anyelement) RETURNS SETOF bytea LANGUAGE sql VOLATILE
		AS \$\$SELECT frame FROM public.forged WHERE public.at_gate(seq) ORDER BY seq\$\$});
let_lie($liar);

my $coordinator = new_coordinator('coordinator',
	conf => "shared_preload_libraries = 'pg_exchange'\npg_exchange.stat_max = 10\npg_exchange.local_scope = none\n");
add_server($coordinator, 'liar', $liar);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE lie (name text) SERVER liar;
	CREATE ROLE other LOGIN;
	CREATE USER MAPPING FOR other SERVER liar OPTIONS (user '} . $coordinator->safe_psql('postgres', 'SELECT current_user') . q{', password_required 'false');
	GRANT SELECT ON lie TO other});

# From now on streams have that many rows of 300 bytes, and the link carried so
# many bytes per second; 0: it was not what took time.
sub forge
{
	my ($rate, $rows) = @_;
	my @strings = ('x' x 300) x ($rows // 1);
	my @frames = (schema([ [ 25, 2, 0 ] ]),
		batch(scalar @strings, [ chunk(form => 1, nvalues => scalar @strings, encoded => packed(@strings)) ]));
	my $seq = 0;
	$liar->safe_psql('postgres', 'SET log_statement = none; TRUNCATE forged;' .
		join(';', map { 'INSERT INTO forged VALUES (' . $seq++ . q{, '\x} . unpack('H*', $_) . q{')} } @frames, end_of(\@frames, link_rate => $rate)));
	return;
}

# The rate with which a stream of a new session begins.  Options: psql's.
sub begins_with
{
	my ($table, %options) = @_;
	my $logged = -s $liar->logfile;
	$coordinator->safe_psql('postgres', 'SELECT count(name) FROM (SELECT name FROM ' . ($table // 'lie') . ' OFFSET 0) x', %options);
	my @rates = slurp_file($liar->logfile, $logged) =~ /exchange\.send\(.* link=(\d+) /g;
	return join(' ', @rates);
}

sub links
{
	return $coordinator->safe_psql('postgres', q{SELECT srvname, read_rate, write_rate, measured > now() - interval '1 hour' FROM exchange.links});
}

# A second has one measurement.
sub next_second
{
	usleep(1_100_000);
	return;
}

forge(0);
is(begins_with(), '0', 'nothing is known at first');
is(links(), '', 'a stream that is not slowed down says nothing of the link');

forge(5_000_000);
is(begins_with(), '0', 'nothing is known until the link is measured');
is(begins_with(), '5000000', 'another session begins with what the first one has measured');
is(begins_with(undef, extra_params => [ '-U', 'other' ]), '5000000', 'so does that of another user');
is(links(), 'liar|5000000||t', 'the view shows it');
is($coordinator->safe_psql('postgres', 'SELECT read_rate FROM exchange.links', extra_params => [ '-U', 'other' ]), '5000000', 'to everybody');
is($coordinator->safe_psql('template1', q{CREATE EXTENSION pg_exchange; SELECT count(*) FROM exchange.links}), '0', 'but not in another database');

# One that is wrong does not count; two that say the same do.
next_second();
forge(1_000_000);
begins_with();
is(begins_with(), '5000000', 'of two rates the faster one counts');
next_second();
forge(8_000_000);
begins_with();
is(begins_with(), '5000000', 'of three rates the middle one counts');
next_second();
begins_with();
is(begins_with(), '8000000', 'of more the last three count');

# What was measured with other options is no use, whoever measured it.
{
	$liar->safe_psql('postgres', 'ALTER FUNCTION at_gate SET lock_timeout = 0');
	$gate->query('SELECT pg_advisory_lock(7)');
	my $late = open_session($coordinator);
	$late->query_until(qr/begun/, "\\echo begun\nSELECT count(name) FROM (SELECT name FROM lie OFFSET 0) x;\n");
	# The liar's sender does not reset the lock_timeout of streams.  And of
	# "count(*) = 1", the liar says that it is always so.
	ok($liar->poll_query_until('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}, '1'),
		'a stream is open');
	$coordinator->safe_psql('postgres', q{ALTER SERVER liar OPTIONS (ADD connect_timeout '60')});
	is(links(), '', 'when the server has changed, nothing is known');
	$gate->query('SELECT pg_advisory_unlock(7)');
	$late->query('SELECT 1');
	is(links(), '', 'what an older stream measures is not for the server as it is now');
	$gate->quit;
	forge(4_000_000);
	is(begins_with(), '0', 'a new stream begins with nothing');
	is($late->query('SELECT count(name) FROM (SELECT name FROM lie OFFSET 0) x'), '1', 'an old session goes on');
	is(links(), 'liar|4000000||t', 'the link is measured anew');
	$late->quit;
}

# What it says itself is not believed without limits.
sub forget
{
	$coordinator->safe_psql('postgres', q{ALTER SERVER liar OPTIONS (SET connect_timeout '} . $_[0] . q{')});
	return;
}
forget(61);
forge(1);
begins_with();
is(begins_with(), '1000', 'a rate has a lower bound');
next_second();
forge(0, 4000);
begins_with();
is(begins_with(), '0', 'a stream that brings more than the rate allows disproves it');
is(links(), 'liar|||t', 'the view shows that no rate is known');
forget(62);
forge('18446744073709551615');
begins_with();
like(begins_with(), qr/^28147497671\d{4}$/, 'a rate has an upper bound');

# More servers than there is room for: the one measured first goes.
forge(5_000_000);
for my $i (1 .. 12)
{
	add_server($coordinator, "other$i", $liar);
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE lie$i (name text) SERVER other$i OPTIONS (table_name 'lie')");
	begins_with("lie$i");
}
is($coordinator->safe_psql('postgres', q{SELECT string_agg(srvname, ' ' ORDER BY srvname COLLATE "C") FROM exchange.links}),
	join(' ', sort map { "other$_" } 3 .. 12), 'the table has stat_max entries, the latest ones');
is(begins_with('lie12'), '5000000', 'these are used');
is(begins_with('lie1'), '0', 'the others are forgotten');
$coordinator->safe_psql('postgres', 'DROP SERVER other12 CASCADE');
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM exchange.links WHERE srvname = 'other12'}), '0', 'a server that was dropped is not shown');

# A restart; and without shared memory.
$coordinator->restart;
is(links(), '', 'nothing is known after a restart');
$coordinator->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$coordinator->restart;
begins_with();
is(begins_with(), '0', 'without shared memory, sessions do not know what others have measured');
is(links(), '', 'the view is empty then');
my $logged = -s $liar->logfile;
$coordinator->safe_psql('postgres', 'SELECT count(name) FROM (SELECT name FROM lie OFFSET 0) x; SELECT count(name) FROM (SELECT name FROM lie OFFSET 0) x');
is(join(' ', slurp_file($liar->logfile, $logged) =~ /exchange\.send\(.* link=(\d+) /g), '0 5000000', 'but what they have measured themselves');

done_testing();
