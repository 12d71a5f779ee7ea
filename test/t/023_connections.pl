# Of a stream's connection: it waits for no lock, sends no request to cancel in
# clear, and asks anew with each stream whether the remote's functions are the
# extension's.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $shard = new_shard('shard', conf => "log_connections = on\nlisten_addresses = '127.0.0.1'\n");
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	CREATE VIEW big AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 300000) i;
	ANALYZE});
my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE big (id int, filler text) SERVER shard});

my $session = open_session($coordinator);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
my $explain = 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;';
sub transport { return label('Transport', ask($explain)); }
like(transport(), qr/^exchange v1/, 'the rows come by exchange');

# ---- locks ------------------------------------------------------------------

# postgres_fdw's session would wait; a stream does not.
my $locker = open_session($shard);
$locker->query('BEGIN; LOCK TABLE events');
ask("SET statement_timeout = '3s'");
my $out = ask('SELECT count(*) FROM events;');
like($session->{stderr}, qr/canceling statement due to statement timeout/, 'a scan waits for a lock');
is($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND wait_event_type = 'Lock'}), 0,
	'no stream waits for it');
ask("SET statement_timeout = '180s'");
$locker->query('COMMIT');
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_locks WHERE NOT granted}), 'nobody waits any more');

# A transaction's first scan waits for the answer before there is a stream, later ones do not.
ask('BEGIN');
is(ask('SELECT count(*) FROM (SELECT * FROM big LIMIT 10) x;'), 10, 'a transaction that has used the server has its rows');
$locker->query('BEGIN; LOCK TABLE events');
my $waiting = $shard->background_psql('postgres', on_error_stop => 0);
$waiting->query_until(qr/started/, q{
	\echo started
	DO $$BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name <> 'pg_exchange' AND wait_event_type = 'Lock') LOOP
			PERFORM pg_sleep(0.05), pg_stat_clear_snapshot();
		END LOOP;
		PERFORM pg_sleep(3);
		PERFORM pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock' AND granted;
	END$$;
});
is(transport(), 'exchange v1, session (a lock was waited for)', 'a scan that has waited for a lock says so');
ask('COMMIT');
$waiting->quit;

# Somebody waits for the transaction: its streams would wait for him, each for itself.
my $waiter = $shard->background_psql('postgres', on_error_stop => 0);
ask("BEGIN; SET LOCAL pg_exchange.transport = 'session';");
is(ask('SELECT count(*) FROM events;'), 20000, 'the session has a lock');
ask("SET LOCAL pg_exchange.transport = 'auto';");
$waiter->query_until(qr/started/, "\\echo started\nBEGIN; LOCK TABLE events; ROLLBACK;\n");
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}), 'for which somebody waits');
my $waits = sub { return scalar(() = slurp_file($shard->logfile) =~ /canceling statement due to lock timeout/g) };
my $before = $waits->();
my $start = time;
is(transport(), 'exchange v1, session (a lock was waited for)', 'a stream does, too');
is($waits->(), $before + 1, 'until its time-out');
is(transport(), 'exchange v1, session (a lock was waited for)', 'nor is there one for the next scan');
ok($waits->() == $before + 1 || time - $start > 0.9, 'which has not waited');
ask('SELECT pg_sleep(1.1);');
$before = $waits->();
is(transport(), 'exchange v1, session (a lock was waited for)', 'a second later');
is($waits->(), $before + 1, 'one is tried again');
ask('COMMIT');
$waiter->quit;

# ---- what the remote has become ---------------------------------------------

like(transport(), qr/^exchange v1/, 'the rows come by a stream');
is(ask('SELECT count(*) FROM exchange.connections;'), 1, 'whose connection is kept');
$shard->safe_psql('postgres', q{
	ALTER EXTENSION pg_exchange DROP FUNCTION exchange.send(text, record);
	ALTER FUNCTION exchange.send(text, record) RENAME TO saved;
	CREATE TABLE caught (by text);
	CREATE FUNCTION exchange.send(text, anyelement) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS
		$$BEGIN INSERT INTO public.caught VALUES (current_user); RETURN NULL; END$$});
like(transport(), qr/^postgres_fdw \(/, 'where another function has taken its place, postgres_fdw reads');
is($shard->safe_psql('postgres', 'SELECT count(*) FROM caught'), 0, 'that function is not called');
$shard->safe_psql('postgres', q{
	DROP FUNCTION exchange.send(text, anyelement);
	ALTER FUNCTION exchange.saved(text, record) RENAME TO send;
	ALTER EXTENSION pg_exchange ADD FUNCTION exchange.send(text, record)});
ask('SELECT exchange.disconnect_all();');
like(transport(), qr/^exchange v1/, 'the exchange is back with the function');

# The functions are looked at in full once, and then compared with what they were (conn/seal.h).
my %changes = (
	'other rights' => [ 'ALTER FUNCTION exchange.admit(text, text, boolean) SECURITY DEFINER', 'ALTER FUNCTION exchange.admit(text, text, boolean) SECURITY INVOKER' ],
	'settings' => [ q{ALTER FUNCTION exchange.send(text, record) SET search_path = public}, 'ALTER FUNCTION exchange.send(text, record) RESET search_path' ],
	'another body' => [
		q{CREATE OR REPLACE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql VOLATILE AS $$INSERT INTO caught VALUES (current_user) RETURNING 'hi'$$},
		q{CREATE OR REPLACE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE C VOLATILE PARALLEL UNSAFE AS '$libdir/pg_exchange', 'px_sql_admit'} ],
	'another schema' => [ 'ALTER SCHEMA exchange RENAME TO saved; CREATE SCHEMA exchange', 'DROP SCHEMA exchange; ALTER SCHEMA saved RENAME TO exchange' ]);
for my $what (sort keys %changes)
{
	my ($change, $undo) = @{ $changes{$what} };
	like(transport(), qr/^exchange v1, stream$/, "$what: not yet");

	# By now both sessions have shown their stamps (conn/stamp.h).
	transport() for 1 .. 2;
	my $definition = $shard->safe_psql('postgres', q{SELECT pg_get_functiondef('exchange.admit'::regproc)});
	$shard->safe_psql('postgres', $change);
	like(transport(), qr/^postgres_fdw \((remote's pg_exchange is too old|remote has functions of pg_exchange's names)/, "$what: seen at once, and postgres_fdw reads");
	is($shard->safe_psql('postgres', 'SELECT count(*) FROM caught'), 0, "$what: nothing is called");
	$shard->safe_psql('postgres', $undo);
	is($shard->safe_psql('postgres', q{SELECT pg_get_functiondef('exchange.admit'::regproc)}), $definition, "$what: it is undone");
	ask('SELECT exchange.disconnect_all();');
}
is(transport(), 'exchange v1, stream', 'and is used again');

# The stamp of a session changes when it should, and in no other way.
my $stamped = open_session($shard);
sub stamp { return $stamped->query(q{SELECT current_setting('pg_exchange.stamp')}); }
is($stamped->query(q{LOAD 'pg_exchange'}) . stamp(), '', 'there is no stamp of what was not watched');
for my $change ('CREATE FUNCTION stamped() RETURNS int LANGUAGE sql RETURN 1', 'DROP FUNCTION stamped', 'CREATE SCHEMA stamped', 'DROP SCHEMA stamped', 'CREATE ROLE stamped',
	'GRANT pg_read_all_data TO stamped', 'DROP ROLE stamped', 'GRANT EXECUTE ON FUNCTION exchange.hello TO pg_read_all_data', 'REVOKE EXECUTE ON FUNCTION exchange.hello FROM pg_read_all_data')
{
	my $before = stamp();
	like($before, qr/^[0-9a-f]{16}\.10$/, 'there is a stamp');
	$shard->safe_psql('postgres', 'CREATE TABLE unrelated AS SELECT 1; DROP TABLE unrelated');
	is(stamp(), $before, 'it stays while there is no change');
	$shard->safe_psql('postgres', $change);
	is(stamp(), '', "$change: it is gone in the statement that learns of the change");
	isnt(stamp(), $before, "$change: it is another one then");
}
$stamped->{stderr} = '';
$stamped->query(q{SET pg_exchange.stamp = '1'});
like($stamped->{stderr}, qr/cannot be changed/, 'nobody sets it');
$stamped->quit;
ask('SELECT exchange.disconnect_all();');
ask('BEGIN; SET LOCAL pg_exchange.transport = session;');
is(transport(), 'exchange v1, session (transport is session)', 'a session has looked at the functions');
my $definition = $shard->safe_psql('postgres', q{SELECT pg_get_functiondef('exchange.hello'::regproc)});
$shard->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql VOLATILE STRICT AS $$INSERT INTO public.caught VALUES (current_user) RETURNING 'hi'$$});
ask('SET LOCAL pg_exchange.transport = auto;');
unlike(transport(), qr/stream/, 'a connection that is made later finds them changed');
is($shard->safe_psql('postgres', 'SELECT count(*) FROM caught'), 0, 'and calls nothing');
ask('COMMIT;');
$shard->safe_psql('postgres', $definition);
ask('SELECT exchange.disconnect_all();');
is(transport(), 'exchange v1, stream', 'it is used again');
$shard->safe_psql('postgres', 'DROP EXTENSION pg_exchange; CREATE EXTENSION pg_exchange');
is(transport(), q{exchange v1, session (remote's pg_exchange is gone, or not the extension's any more)}, 'another extension is not the one that was looked at');
is(transport(), 'exchange v1, stream', 'it is looked at, and used');

# Nobody needs a right to read pg_roles.
$shard->safe_psql('postgres', 'CREATE ROLE reader LOGIN; GRANT SELECT ON events TO reader; REVOKE SELECT ON pg_roles FROM PUBLIC');
add_server($coordinator, 'limited', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER limited OPTIONS (user 'reader', password_required 'false');
	CREATE FOREIGN TABLE read_by_reader (id int, name text) SERVER limited OPTIONS (table_name 'events')});
is(label('Transport', ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM read_by_reader;')), 'exchange v1, stream', 'a user who may not read pg_roles reads by a stream');
$shard->safe_psql('postgres', 'GRANT SELECT ON pg_roles TO PUBLIC');

# Where other rights were taken from everybody, postgres_fdw reads and writes.
# (No function for XML is among them: there may be a server without libxml.)
$shard->safe_psql('postgres', 'CREATE TABLE of_reader (id int, name text); ALTER TABLE of_reader OWNER TO reader');
$coordinator->safe_psql('postgres', q{CREATE FOREIGN TABLE of_reader (id int, name text) SERVER limited});
my $written = 0;
sub read_and_write_with
{
	my ($right, $transport) = @_;
	$shard->safe_psql('postgres', "REVOKE $right FROM PUBLIC");
	ask(q{SELECT exchange.disconnect('limited'), postgres_fdw_disconnect('limited');});
	is(ask('INSERT INTO of_reader SELECT i, i::text FROM generate_series(1, 300) i; SELECT count(*) FROM (SELECT * FROM of_reader OFFSET 0) x;'), $written += 300, "without $right, a user writes and reads");
	ask(q{SELECT exchange.disconnect('limited'), postgres_fdw_disconnect('limited');});
	is(label('Transport', ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM read_by_reader;')), $transport, "without $right, a user reads by $transport");
	$shard->safe_psql('postgres', "GRANT $right TO PUBLIC");
	return;
}
read_and_write_with($_, 'postgres_fdw (remote user may not read the catalogs)')
	for map({ "SELECT ON pg_catalog.$_" } qw(pg_proc pg_depend pg_namespace pg_extension)),
	map { "EXECUTE ON FUNCTION pg_catalog.$_" } 'pg_get_functiondef(oid)', 'pg_identify_object(oid, oid, int)', 'pg_has_role(oid, oid, text)',
	'has_schema_privilege(oid, text)', 'sha256(bytea)', 'convert_to(text, name)', 'encode(bytea, text)', 'length(text)', 'right(text, int)',
	'current_setting(text)', 'current_setting(text, bool)', 'pg_backend_pid()';
read_and_write_with('EXECUTE ON FUNCTION pg_catalog.query_to_xml(text, bool, bool, text)', 'exchange v1, stream');

# ---- requests to cancel -----------------------------------------------------

SKIP:
{
	my $data = $shard->data_dir;
	skip('no openssl', 3) if system("cd '$data' && openssl req -new -x509 -days 3 -nodes -subj /CN=shard -out server.crt -keyout server.key 2>/dev/null") != 0;
	chmod 0600, "$data/server.key";
	$shard->append_conf('postgresql.conf', "ssl = on\n");
	$shard->append_conf('pg_hba.conf', "hostssl all all 127.0.0.1/32 trust\n");
	$shard->restart;
	ask("ALTER SERVER shard OPTIONS (SET host '127.0.0.1', ADD sslmode 'require');");
	my $from = -s $shard->logfile;
	is(ask('SELECT count(*) FROM (SELECT * FROM big LIMIT 10) x;'), 10, 'the first rows of a stream');
	my $kept = ask(q{SELECT count(*) FROM exchange.connections WHERE srvname = 'shard';});
	my $log = substr(slurp_file($shard->logfile), $from);
	my $received = () = $log =~ /connection received: host=127/g;
	my $encrypted = () = $log =~ /connection authorized: .*SSL enabled/g;
	is($encrypted, 3, 'all connections are encrypted');
	ok($kept || $received == $encrypted, "no request to cancel is sent in clear ($received connections, $kept kept)");
}

$session->quit;
done_testing();
