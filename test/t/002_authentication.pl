# Who may connect how: an exchange asks for a password where postgres_fdw does,
# fails where postgres_fdw fails and in its words, and opens no connection that
# postgres_fdw would not have opened.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The shard asks one user for a password, and no one else.
my $shard = new_shard('shard',
	conf => "password_encryption = 'scram-sha-256'\n",
	hba => "local all asked scram-sha-256\nlocal all all trust\n");
$shard->safe_psql('postgres', q{
	CREATE ROLE asked LOGIN PASSWORD 'secret';
	CREATE ROLE trusted LOGIN;
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 1000) i;
	CREATE VIEW session AS SELECT current_user::text AS who, current_setting('application_name') AS name;
	CREATE VIEW stream AS SELECT application_name AS name FROM pg_stat_activity
		WHERE usename = current_user AND pid <> pg_backend_pid() ORDER BY backend_start DESC LIMIT 1;
	GRANT SELECT ON events, session, stream TO asked, trusted;
});

my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE session (who text, name text) SERVER shard;
	CREATE FOREIGN TABLE stream (name text) SERVER shard;
	CREATE ROLE plain LOGIN;
	CREATE ROLE chief LOGIN SUPERUSER;
	GRANT SELECT ON events, session, stream TO plain;
});

# stdout and stderr of SQL run by a user of the coordinator.
sub run_as
{
	my ($user, $sql) = @_;
	my (undef, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\n$sql",
		extra_params => [ '-U', $user ], on_error_stop => 0);
	return ($out, $err);
}

# Have the users plain and chief connect to the shard with these options.
sub map_users
{
	my ($options) = @_;
	$coordinator->safe_psql('postgres', join(';', map {
		("DROP USER MAPPING IF EXISTS FOR $_ SERVER shard",
		 "CREATE USER MAPPING FOR $_ SERVER shard" . ($options ? " OPTIONS ($options)" : ''))
	} qw(plain chief)));
}

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM events OFFSET 0) x';

# The user connects, and the rows come by exchange.
sub connects
{
	my ($user, $who, $name) = @_;
	my ($out, $err) = run_as($user, "$scan; SELECT who FROM session;
		EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events");
	like($out, qr/^1000\|500500\n\Q$who\E\n.*Transport: exchange v1, stream/s, "$name: the rows come by exchange");
	is($err, '', "$name: there is no error");
}

# The user is refused, with the same words whether or not there are exchanges.
sub is_refused
{
	my ($user, $expected, $name) = @_;
	my (undef, $without) = run_as($user, "SET pg_exchange.enabled = off; $scan");
	my (undef, $with) = run_as($user, "SET pg_exchange.enabled = on; $scan");
	like($without, $expected, "$name: postgres_fdw refuses");
	is($with, $without, "$name: an exchange refuses in the same words");
}

# Who cannot log in leaves nothing in the shard's pg_stat_activity; so look for
# what the shard has authorized since the log was this long.
$shard->safe_psql('postgres', 'ALTER SYSTEM SET log_connections = on; SELECT pg_reload_conf()');
$shard->poll_query_until('postgres', "SELECT current_setting('log_connections') = 'on'");
sub exchange_connections
{
	my ($offset) = @_;
	my $log = slurp_file($shard->logfile, $offset);
	my $n = () = $log =~ /connection authorized: user=\w+ database=\w+ application_name=pg_exchange/g;
	return $n;
}

map_users("user 'asked', password 'secret'");
connects('chief', 'asked', 'a superuser with a password connects');
connects('plain', 'asked', 'a user with a password connects');

map_users("user 'asked', password 'wrong'");
for my $user (qw(chief plain))
{
	is_refused($user, qr/ERROR:  08001: could not connect to server "shard"\n.*password authentication failed for user "asked"/s,
		"wrong password of $user");
}

map_users("user 'asked'");
is_refused('chief', qr/ERROR:  08001: could not connect to server "shard"\n.*no password supplied/s,
	'a superuser without the password');
is_refused('plain', qr/ERROR:  2F003: .*provide a password\b/s,
	'a user without a password');

map_users("user 'trusted'");
{
	my $offset = -s $shard->logfile;
	connects('chief', 'trusted', 'a superuser connects where no password is asked for');
	is(exchange_connections($offset), 2, 'an exchange connects once for statistics, and once to read');
	$offset = -s $shard->logfile;
	is_refused('plain', qr/ERROR:  2F003: .*provide a password\b/s,
		'a user without a password where none is asked for');
	is(exchange_connections($offset), 0, 'no exchange has connected without the password');
}

# The password is there but was not used: such a connection is closed again.
map_users("user 'trusted', password 'secret'");
is_refused('plain', qr/ERROR:  2F003: .*cannot connect if the server does not request a password/s,
	'a user whose password is not asked for');

map_users("user 'trusted', password_required 'false'");
connects('plain', 'trusted', 'a user who needs no password');
map_users("user 'asked', password_required 'false'");
is_refused('plain', qr/ERROR:  08001: could not connect to server "shard"\n.*no password supplied/s,
	'a user who needs no password but is asked for one');

# One mapping for all: what the superuser may is no one else's connection.
map_users('');
$coordinator->safe_psql('postgres', q{
	DROP USER MAPPING FOR plain SERVER shard;
	DROP USER MAPPING FOR chief SERVER shard;
	CREATE USER MAPPING FOR PUBLIC SERVER shard OPTIONS (user 'trusted')});
connects('chief', 'trusted', 'a superuser by the mapping of PUBLIC');
is_refused('plain', qr/ERROR:  2F003: password (is|or .*) required/, 'a user by the mapping of PUBLIC');
{
	my $switch = "$scan; SET ROLE plain; $scan;";
	my ($without) = run_as('chief', "SET pg_exchange.enabled = off; $switch");
	my ($with) = run_as('chief', "$switch EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events");
	is($without, "1000|500500\n1000|500500", 'postgres_fdw lends a connection to whom the session becomes');
	like($with, qr/^\Q$without\E\n.*Transport: exchange v1, session \(password is required\)/s, 'an exchange takes the connection that was lent');
}
$coordinator->safe_psql('postgres', 'DROP USER MAPPING FOR PUBLIC SERVER shard');

# A role of the shard that may connect but once: postgres_fdw comes first.
map_users("user 'trusted'");
$shard->safe_psql('postgres', 'ALTER ROLE trusted CONNECTION LIMIT 1');
{
	my ($out, $err) = run_as('chief', "$scan; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events; $scan");
	like($out, qr/^1000\|500500\n.*Transport: exchange v1, session \(could not connect: .*too many connections.*\n1000\|500500$/s,
		'where there is no second connection, the first one reads');
	is($err, '', 'that is no error');
}
$shard->safe_psql('postgres', 'ALTER ROLE trusted CONNECTION LIMIT -1');

# The name in the shard's pg_stat_activity, as postgres_fdw's connection and
# the exchange's have it in one session.
sub names
{
	my ($settings) = @_;
	my ($out, $err) = run_as('chief', "$settings; SELECT name FROM session; $scan; SELECT name FROM stream; SELECT pg_backend_pid();");
	is($err, '', "no error: $settings");
	my @lines = split(/\n/, $out, -1);
	is(splice(@lines, 1, 1), '1000|500500', 'a scan travels by a stream');
	return @lines;
}
{
	my @names = names("SET application_name = 'mine'");
	is_deeply([ @names[0, 1] ], [ 'postgres_fdw', 'pg_exchange' ], 'application_name is as by default');

	@names = names(q{SET application_name = 'mine'; SET postgres_fdw.application_name = '%a:%u:%d:%C:%p:%%p:%x:%'});
	is($names[0], "mine:chief:postgres:coordinator:$names[2]:%p::", 'escapes in application_name are replaced');
	is($names[1], $names[0], 'they are for an exchange, too');

	@names = names(q{SET postgres_fdw.application_name = '%c'});
	like($names[0], qr/^[0-9a-f]+\.[0-9a-f]+$/, '%c in application_name is replaced');
	is($names[1], $names[0], 'they are for an exchange, too');

	# Another user of the session is still the one who logged in.
	$coordinator->safe_psql('postgres', q{
		ALTER USER MAPPING FOR plain SERVER shard OPTIONS (ADD password_required 'false')});
	@names = names(q{SET postgres_fdw.application_name = '%u'; SET SESSION AUTHORIZATION plain});
	is_deeply([ @names[0, 1] ], [ 'chief', 'chief' ], 'application_name %u is who logged in');

	$coordinator->safe_psql('postgres', q{ALTER SERVER shard OPTIONS (ADD application_name 'of %d')});
	@names = names('SET postgres_fdw.application_name = DEFAULT');
	is_deeply([ @names[0, 1] ], [ 'of postgres', 'of postgres' ], 'the application_name of the server counts');
	@names = names(q{SET postgres_fdw.application_name = '%x'});
	is_deeply([ @names[0, 1] ], [ 'of postgres', 'of postgres' ], 'an empty name does not count');
	@names = names(q{SET postgres_fdw.application_name = 'mine'});
	is_deeply([ @names[0, 1] ], [ 'mine', 'mine' ], 'postgres_fdw.application_name overrides it');
	@names = names("SET postgres_fdw.application_name = '" . ('n' x 100) . "'");
	is_deeply([ @names[0, 1] ], [ ('n' x 63) x 2 ], 'an application_name that is too long is cut');
}

done_testing();
