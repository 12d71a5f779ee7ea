# exchange.check names what is wrong, for each of many broken set-ups, says what
# to do about it, raises no error and does not hang.
use strict;
use warnings;

use Exchange;
use IPC::Run;
use Peer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $shard = new_shard('shard', init => [ allows_streaming => 1 ], conf => "listen_addresses = '127.0.0.1'\nmax_connections = 40\n", hba => <<'EOC');
local all rejected reject
local all secured scram-sha-256
local all all trust
host all secured 127.0.0.1/32 scram-sha-256
local replication all trust
host all all 127.0.0.1/32 trust
EOC
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id FROM generate_series(1, 1000) i;
	CREATE ROLE rejected LOGIN;
	CREATE ROLE secured LOGIN PASSWORD 'right';
	CREATE ROLE plain LOGIN;
	CREATE ROLE narrow LOGIN CONNECTION LIMIT 3;
	CREATE ROLE one LOGIN CONNECTION LIMIT 1;
	CREATE ROLE nologin;
	CREATE ROLE hasty LOGIN SUPERUSER;
	ALTER ROLE hasty SET statement_timeout = '500ms';
	GRANT SELECT ON events TO PUBLIC});
# Databases, each of which is broken in its own way.
sub new_database
{
	my ($name, $sql, $options) = @_;
	$shard->safe_psql('postgres', "CREATE DATABASE $name " . ($options // ''));
	$shard->safe_psql($name, $sql) if $sql;
	return;
}
my $extension = 'CREATE EXTENSION pg_exchange';
new_database('bare');
new_database('forbidden', "$extension; REVOKE USAGE ON SCHEMA exchange FROM PUBLIC");
new_database('uncalled', "$extension; REVOKE EXECUTE ON FUNCTION exchange.send(text, record) FROM PUBLIC");
new_database('old', "$extension VERSION '1.0'");
new_database('newer', "$extension; UPDATE pg_extension SET extversion = '1.2' WHERE extname = 'pg_exchange'");
new_database('impostor', q{
	CREATE SCHEMA exchange;
	CREATE FUNCTION exchange.hello(text) RETURNS text LANGUAGE sql AS 'SELECT 1 / 0'});
new_database('latin', $extension, "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
new_database('unshared', "$extension; REVOKE EXECUTE ON FUNCTION pg_export_snapshot() FROM PUBLIC");
new_database('private');
$shard->safe_psql('postgres', 'REVOKE CONNECT ON DATABASE private FROM PUBLIC');
new_database('closed_database', undef, 'ALLOW_CONNECTIONS false');
new_database('limited', "$extension; CREATE TABLE events (id int)", 'CONNECTION LIMIT 2');
# Where statistics and the list of packages are not for everybody.
new_database('hidden', qq{$extension; CREATE TABLE events (id int); GRANT SELECT ON events TO PUBLIC;
	REVOKE SELECT ON pg_stat_activity, pg_stat_database FROM PUBLIC;
	REVOKE EXECUTE ON FUNCTION pg_available_extensions() FROM PUBLIC});
# As if the files of the package were not there.
my ($columns, $nulls) = split /\|/, $shard->safe_psql('postgres', q{
	SELECT pg_get_function_arguments(oid), (SELECT string_agg('NULL::' || format_type(t, NULL), ', ') FROM unnest(proallargtypes) t)
	FROM pg_proc WHERE proname = 'pg_available_extensions'});
new_database('unpackaged', qq{
	CREATE OR REPLACE FUNCTION pg_catalog.pg_available_extensions($columns)
		RETURNS SETOF record STABLE LANGUAGE sql AS 'SELECT $nulls WHERE false'});
# Here, hellos are what a test says: an expression of the real one.
new_database('liar', "$extension; CREATE FUNCTION exchange.real_hello(text) RETURNS text AS '\$libdir/pg_exchange', 'px_sql_hello' LANGUAGE C STRICT");
sub hello
{
	my ($expression) = @_;
	$shard->safe_psql('liar', qq{
		CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE plpgsql
			AS \$\$BEGIN RETURN (SELECT $expression FROM exchange.real_hello(hello) real); END\$\$});
	return;
}
$shard->safe_psql('liar', q{
	SET allow_system_table_mods = on;
	CREATE FUNCTION public.always(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
	UPDATE pg_operator SET oprcode = 'public.always' WHERE oprcode = 'int84eq'::regproc});

my $coordinator = new_coordinator('coordinator', hba => "local all all trust\n");
$coordinator->safe_psql('postgres', q{CREATE ROLE plain LOGIN});

# A server, and a foreign table of it for postgres_fdw's session.
sub add
{
	my ($name, %options) = @_;
	my $mapping = delete $options{mapping};
	add_server($coordinator, $name, $shard, dbname => 'postgres', %options, user_mapping => 0);
	my $grant = "GRANT USAGE ON FOREIGN SERVER $name TO plain;";
	$grant .= "CREATE USER MAPPING FOR PUBLIC SERVER $name" . ($mapping ? " OPTIONS ($mapping);" : ';') if ($mapping // '') ne 'none';
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE $name (id int) SERVER $name OPTIONS (table_name 'events');
		GRANT SELECT ON $name TO plain;
		$grant});
	return;
}

# What exchange.check finds, in a new session that begins with some SQL: the
# items with a fault, and the name of it.
sub faults
{
	my ($call, %options) = @_;
	my $before = $options{before} ? "$options{before};" : '';
	local $ENV{PGOPTIONS} = $options{options} // '';
	my (undef, $out, $err) = $coordinator->psql('postgres',
		"$before SELECT item, ' ', fault, CASE WHEN length(advice) > 10 THEN '' ELSE ' (no advice)' END FROM exchange.check$call WHERE NOT ok",
		extra_params => [ '-F', '', '-U', $options{user} // 'postgres' ], on_error_stop => 0);
	$out =~ s/\n/, /g;
	return $out . $err;
}

sub finds
{
	my ($expected, $server, $name, %options) = @_;
	is(faults("('$server')", %options), $expected, $name);
	return;
}

# Nothing is wrong.
add('healthy');
finds('', 'healthy', 'a set-up that works');
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM exchange.check('healthy') WHERE ok}), 22, 'all is looked at');
is(faults('()'), '', 'all servers that work');
is($coordinator->safe_psql('postgres', q{SELECT found FROM exchange.check('healthy') WHERE item = 'compression'}),
	'NONE (same host)', 'what the same host means for compression');

# This server.
is(faults("('healthy')", options => '-c session_preload_libraries='), 'library not_preloaded', 'the library is not loaded here');
is($coordinator->safe_psql('postgres', q{
	SELECT ok, advice ~ 'shared_preload_libraries' FROM exchange.check_here() WHERE item = 'library'}),
	't|t', 'no shared memory is no fault, but has advice');
is(faults("('healthy')", before => 'SET pg_exchange.enabled = off'), 'enabled disabled', 'exchanges are switched off');
is(faults("('healthy')", before => q{BEGIN; UPDATE pg_extension SET extversion = '1.2' WHERE extname = 'pg_exchange'}),
	'extension other_files, extension there other_version', 'SQL objects of another version than the files');
add('mappingless', mapping => 'none');
finds('user mapping no_user_mapping', 'mappingless', 'no user mapping');
$coordinator->safe_psql('postgres', 'REVOKE USAGE ON FOREIGN SERVER mappingless FROM plain; REVOKE SELECT ON mappingless FROM plain');
finds('user mapping no_server_right', 'mappingless', 'no right to use the server', user => 'plain');
$coordinator->safe_psql('postgres', 'CREATE FOREIGN DATA WRAPPER other; CREATE SERVER other FOREIGN DATA WRAPPER other');
finds('server not_postgres_fdw', 'other', "another wrapper's server");
finds('connections here limit_reached', 'healthy', 'our own limit', before => 'SET pg_exchange.max_connections_per_backend = 1');
finds('connections there few_connections', 'healthy', 'our own limit is more than there is',
	before => 'SET pg_exchange.max_connections_per_server = 1000');

# The extension over there.
my %databases = (
	bare => [ 'extension_missing', 'no extension there' ],
	old => [ 'extension_too_old', 'an old version there' ],
	unpackaged => [ 'package_missing', 'no package there' ],
	impostor => [ 'impostor', 'functions of somebody else' ]);
for my $database (sort keys %databases)
{
	my ($fault, $name) = @{ $databases{$database} };
	add($database, dbname => $database);
	finds("extension there $fault", $database, $name);
}
add('forbidden', dbname => 'forbidden', mapping => "user 'plain', password_required 'false'");
finds('extension there no_rights', 'forbidden', 'no rights on the schema');
add('uncalled', dbname => 'uncalled', mapping => "user 'plain', password_required 'false'");
finds('extension there no_rights', 'uncalled', 'no right to call a function');
add('unshared', dbname => 'unshared', mapping => "user 'plain', password_required 'false'");
finds('extension there no_snapshot_right', 'unshared', 'no right to export snapshots');
add('newer', dbname => 'newer');
finds('extension there other_version', 'newer', 'another version there');
add('latin', dbname => 'latin');
finds('encoding other_encoding', 'latin', 'another encoding');
add('liar', dbname => 'liar');
my @hellos = (
	[ 'real', '', 'what passes for the extension' ],
	[ q{regexp_replace(real, 'endian=little', 'endian=big')}, 'extension there big_endian', 'a big-endian server' ],
	[ q{regexp_replace(real, 'protocol=1-1', 'protocol=2-2')}, 'extension there protocol', 'another protocol' ],
	[ q{regexp_replace(real, 'server_version=\d+', 'server_version=150004')}, 'minor release there minor_release', 'an unsafe minor release' ],
	[ q{'nothing'}, 'extension there hello_failed', 'no hello' ]);
for my $case (@hellos)
{
	hello($case->[0]);
	finds($case->[1], 'liar', $case->[2]);
}
# As when its file is not there, or an old one.
my @libraries = (
	[ 'could not access file "$libdir/pg_exchange": No such file or directory', 'library_missing', 'no library there' ],
	[ 'could not find function "px_sql_hello" in file "/usr/lib/pg_exchange.so"', 'library_mismatch', 'another library there' ]);
for my $case (@libraries)
{
	my ($message, $fault, $name) = @$case;
	$shard->safe_psql('liar', qq{
		CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE plpgsql
			AS \$\$BEGIN RAISE '$message'; END\$\$});
	finds("extension there $fault", 'liar', $name);
}

# Logging in.
add('password', mapping => "user 'secured', password 'open sesame'");
finds('connection wrong_password, session session_failed', 'password', 'a wrong password');
add('passwordless', mapping => "user 'secured', password_required 'false'");
finds('connection no_password, session session_failed', 'passwordless', 'no password');
add('required', mapping => "user 'secured'");
finds('connection password_required, session session_failed', 'required', "a user without a password who needs one", user => 'plain');
add('trusted', mapping => "user 'plain', password 'any'");
finds('connection password_required, session session_failed', 'trusted', "a server that does not ask for it", user => 'plain');
add('rejected', mapping => "user 'rejected', password_required 'false'");
finds('connection login_refused, session session_failed', 'rejected', 'pg_hba.conf refuses');
add('missing', dbname => 'missing');
finds('connection database_missing, session session_failed', 'missing', 'no such database');
add('private', dbname => 'private', mapping => "user 'plain', password_required 'false'");
finds('connection no_connect_right, session session_failed', 'private', 'no right to connect');
add('tls', host => '127.0.0.1', options => "sslmode 'require'");
finds('connection tls, session session_failed', 'tls', 'no TLS where it is required');
add('closed', host => '127.0.0.1', port => PostgreSQL::Test::Cluster::get_free_port());
finds('connection unreachable, session session_failed', 'closed', 'nobody listens');
add('nologin', mapping => "user 'nologin', password_required 'false'");
finds('connection login_refused, session session_failed', 'nologin', 'a role that may not log in');
add('closed_database', dbname => 'closed_database');
finds('connection database_closed, session session_failed', 'closed_database', 'a database that takes no connections');
add('setting', options => "options '-c nonsense=1'");
finds('connection option_refused, session session_failed', 'setting', 'a setting that the server does not know');
add('superior', options => "options '-c log_statement=all'", mapping => "user 'plain', password_required 'false'");
finds('connection option_refused, session session_failed', 'superior', 'a setting that the user may not set');
add('port', host => '127.0.0.1', port => 99999);
finds('connection invalid_option, session session_failed', 'port', 'no port');
add('leader', options => "target_session_attrs 'standby'");
finds('connection wrong_role, session session_failed', 'leader', 'a primary where a standby is asked for');
# What the last host says is not lost.
add('hosts', host => '127.0.0.1,127.0.0.1', port => PostgreSQL::Test::Cluster::get_free_port() . ',' . $shard->port,
	mapping => "user 'secured', password 'wrong', password_required 'false'");
finds('connection wrong_password, session session_failed', 'hosts', 'two hosts');

# What the server does not tell to its user.
add('hidden', dbname => 'hidden', mapping => "user 'plain', password_required 'false'");
finds('', 'hidden', 'hidden statistics');
is($coordinator->safe_psql('postgres', q{SELECT item || ': ' || found FROM exchange.check('hidden') WHERE ok IS NULL}),
	'connections there: permission denied for view pg_stat_database', 'hidden statistics are unknown');

# An error of the server's is none of ours, even if it was cancelled there.
add('hasty', options => "use_remote_estimate 'true'", mapping => "user 'hasty', password_required 'false'");
my $locker = open_session($shard);
$locker->query('BEGIN; LOCK TABLE events');
finds('session session_failed', 'hasty', 'a query that was cancelled over there');
$locker->query('ROLLBACK');
$locker->quit;

# Connections.
add('limited', dbname => 'limited');
finds('', 'limited', 'a limit that is none for superusers');
add('narrow', mapping => "user 'narrow', password_required 'false'");
finds('connections there few_connections', 'narrow', 'few connections for the role');
add('one', mapping => "user 'one', password_required 'false'");
finds('connections there few_connections, snapshot no_snapshot', 'one', 'one connection for the role');
my $holder = $shard->background_psql('postgres', extra_params => [ '-U', 'one' ]);
$holder->query_safe('SELECT 1');
finds('connection server_full, session session_failed', 'one', 'no connection left');
$holder->quit;

# No answer: nobody waits longer than a stream would, and it can be cancelled.
$ENV{PG_VERSION_NUM} = $coordinator->safe_psql('postgres', 'SHOW server_version_num');
my $forged = Peer->new('forged_server');
$forged->tell('lie', 'login', 'silence');
hello(q{CASE WHEN pg_sleep(60) IS NOT NULL THEN real END});
add('silent', host => $forged->host, port => $forged->port, mapping => "user 'postgres'");
for my $case ([ 'silent', 'connection no_answer' ], [ 'liar', 'extension there no_answer' ])
{
	my ($server, $expected) = @$case;
	my $started = time;
	finds($expected, $server, "$server: no answer");
	within(15, $started, "$server: no answer");
	$started = time;
	like((cancel_meanwhile($coordinator, sub { return faults("('$server')", before => q{SET application_name = 'to_cancel'}); }))[0],
		qr/canceling statement due to user request/, "$server: it can be cancelled");
	within(6, $started, "$server: it can be cancelled");
}
hello('real');
$forged->tell('lie', 'login', 'noise');
finds('connection not_postgresql', 'silent', 'what listens is no PostgreSQL');
$forged->tell('lie', 'login', 'silence');

# A pooler.
SKIP:
{
	my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin', '/usr/local/sbin';
	skip('pgbouncer is not installed', 4) unless $pgbouncer;
	my $folder = PostgreSQL::Test::Utils::tempdir_short;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $upstream = sprintf('host=%s port=%s dbname=postgres user=postgres', $shard->host, $shard->port);
	append_to_file("$folder/pgbouncer.ini", <<EOC);
[databases]
wide = $upstream pool_size=8
single = $upstream pool_size=1
[pgbouncer]
listen_port = $port
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
EOC
	my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ], '<', \undef, '>', "$folder/log", '2>&1');
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if -S "$folder/.s.PGSQL.$port";
		usleep(100_000);
	}
	add("pooled_$_", host => $folder, port => $port, dbname => $_) for qw(wide single);
	finds('pooler pooler', 'pooled_wide', 'a pooler');
	my $started = time;
	finds('pooler pooler, snapshot no_snapshot', 'pooled_single', 'a pooler with one connection');
	within(15, $started, 'a pooler with one connection');
	add('pooled_options', host => $folder, port => $port, dbname => 'wide', options => "options '-c geqo=off'");
	finds('connection pooler_refused, session session_failed', 'pooled_options', 'a pooler that does not accept an option');
	$pooler->kill_kill;
}

# A standby works.
$shard->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($shard, 'backup', has_streaming => 1);
$standby->start;
$shard->wait_for_catchup($standby);
add('standby', host => $standby->host, port => $standby->port);
finds('', 'standby', 'a standby');
is($coordinator->safe_psql('postgres', q{SELECT found FROM exchange.check('standby') WHERE item = 'role'}),
	'standby: for reading only', 'it says that it is one');
$standby->append_conf('postgresql.conf', "hot_standby = off\n");
$standby->restart;
finds('connection not_ready, session session_failed', 'standby', 'a standby that only recovers');

# What a session remembers.
my $session = open_session($coordinator);
$session->query('SELECT count(*) FROM bare');
$shard->safe_psql('bare', "$extension; CREATE TABLE events (id int)");
my $check = q{SELECT item || ' ' || fault FROM exchange.check('bare') WHERE NOT ok};
is($session->query($check), 'memory remembered', 'what the session remembers');
$session->query(q{SELECT exchange.disconnect('bare')});
is($session->query($check), '', 'what it has forgotten');
is($session->query(q{SELECT count(*) FROM exchange.connections}), 0, 'no connection is left');
is($session->query(q{BEGIN; SELECT count(*) FROM exchange.check('closed') WHERE NOT ok; SELECT count(*) FROM healthy; COMMIT}), "2\n1000",
	'a transaction goes on after a server that is not there');
$session->quit;

# Connections that this server has no files for.
my $small = new_coordinator('small', conf => "max_files_per_process = 64\n");
add_server($small, "many_$_", $shard) for 1 .. 16;
$small->safe_psql('postgres', "CREATE FOREIGN TABLE many_$_ (id int) SERVER many_$_ OPTIONS (table_name 'events')") for 1 .. 16;
is($small->safe_psql('postgres', q{
	SELECT DISTINCT fault, length(advice) > 10 FROM generate_series(1, 16) i, exchange.check_there('many_' || i)
	WHERE item = 'connection' AND NOT ok}), 'not_connected|t', 'too many open files here');

# One bad server does not hide the others, and each shows once.
is($coordinator->safe_psql('postgres', q{SELECT count(DISTINCT server) FROM exchange.check() WHERE server <> 'silent'}),
	$coordinator->safe_psql('postgres', q{SELECT count(DISTINCT srvname) - 1 FROM pg_user_mappings}), 'all servers of the user');
# Nothing secret is shown.
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM exchange.check('password') c WHERE c::text ~ 'sesame'}), 0, 'no password is shown');

# exchange.compare tells how far it is; what is compared comes from the server.
my (undef, $compared, $notices) = $coordinator->psql('postgres',
	q{SET pg_exchange.local_scope = none; SELECT way, rows, wire_bytes > 0, complete FROM exchange.compare('healthy', 300)});
is($compared, "auto|1000|t|t\nfast|1000|t|t\nnone|1000|t|t\nhigh_compression|1000|t|t\npostgres_fdw|1000||t", 'all ways are compared');
like($notices, qr/^(psql:.*?NOTICE:  [\w-]+: 1000 rows in \d+\.\d\d s\n?){6}$/, 'it tells how far it is');

done_testing();
