# use_scram_passthrough, PostgreSQL 18: whoever has logged in here by SCRAM logs in there with the
# same keys. An exchange does as postgres_fdw does, and is refused what that is refused.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = PostgreSQL::Test::Cluster->new('shard');
plan skip_all => 'postgres_fdw has SCRAM pass-through since PostgreSQL 18' if $shard->pg_version < 18;

$ENV{PGPASSWORD} = 'secret';
my $coordinator = PostgreSQL::Test::Cluster->new('coordinator');
for my $node ($shard, $coordinator)
{
	$node->init;
	$node->append_conf('postgresql.conf', "autovacuum = off\npassword_encryption = 'scram-sha-256'\n");
	unlink($node->data_dir . '/pg_hba.conf');
	$node->append_conf('pg_hba.conf', "local all plain scram-sha-256\nlocal all all trust\n");
}
$shard->append_conf('postgresql.conf', 'log_connections = on');
$coordinator->append_conf('postgresql.conf', "session_preload_libraries = 'pg_exchange'\npg_exchange.min_bytes = 0\npg_exchange.remote_statistics = off\n");
$_->start for $shard, $coordinator;

$coordinator->safe_psql('postgres', sprintf(q{
	CREATE ROLE plain LOGIN PASSWORD 'secret';
	CREATE ROLE trusted LOGIN;
	CREATE EXTENSION postgres_fdw;
	CREATE EXTENSION pg_exchange;
	CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '%s', port '%s', dbname 'postgres', use_scram_passthrough 'true');
	CREATE USER MAPPING FOR plain SERVER shard OPTIONS (user 'plain');
	CREATE USER MAPPING FOR trusted SERVER shard OPTIONS (user 'plain');
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	GRANT SELECT ON events TO plain, trusted;
}, $shard->host, $shard->port));

# The keys are the same only if salt and iterations are, too.
my $verifier = $coordinator->safe_psql('postgres', q{SELECT rolpassword FROM pg_authid WHERE rolname = 'plain'});
$shard->safe_psql('postgres', qq{
	CREATE EXTENSION pg_exchange;
	CREATE ROLE plain LOGIN PASSWORD '$verifier';
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 1000) i;
	GRANT SELECT ON events TO plain;
});

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM events OFFSET 0) x';

sub run_as
{
	my ($user, $sql) = @_;
	my (undef, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\n$sql",
		extra_params => [ '-U', $user ], on_error_stop => 0);
	return ($out, $err);
}

# Sessions that exchanges have got on the shard since its log was this long.
sub exchange_connections
{
	my ($offset) = @_;
	my $n = () = slurp_file($shard->logfile, $offset) =~ /connection authorized: user=\w+ database=\w+ application_name=pg_exchange/g;
	return $n;
}

sub connects
{
	my ($user, $name) = @_;
	my ($out, $err) = run_as($user, "$scan; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events");
	like($out, qr/^1000\|500500\n.*Transport: exchange v1, stream/s, "$name: the rows come by exchange");
	is($err, '', "$name: there is no error");
}

# The same words from both, and no session for an exchange.
sub is_refused
{
	my ($user, $expected, $name) = @_;
	my $offset = -s $shard->logfile;
	my (undef, $without) = run_as($user, "SET pg_exchange.enabled = off; $scan");
	my (undef, $with) = run_as($user, $scan);
	like($without, $expected, "$name: postgres_fdw refuses");
	is($with =~ s/stdin>:\d+/stdin>:/r, $without =~ s/stdin>:\d+/stdin>:/r, "$name: an exchange refuses in the same words");
	is(exchange_connections($offset), 0, "$name: no exchange connects");
}

connects('plain', 'option of the server');

# Who logged in without SCRAM has no keys to pass on.
is_refused('trusted', qr/ERROR:  2F003: /, 'no SCRAM login');

# The user mapping's word goes before the server's, either way.
$coordinator->safe_psql('postgres', q{ALTER USER MAPPING FOR plain SERVER shard OPTIONS (ADD use_scram_passthrough 'false')});
is_refused('plain', qr/ERROR:  2F003: /, 'switched off in the user mapping');
$coordinator->safe_psql('postgres', q{
	ALTER USER MAPPING FOR plain SERVER shard OPTIONS (SET use_scram_passthrough 'true');
	ALTER SERVER shard OPTIONS (DROP use_scram_passthrough)});
connects('plain', 'option of the user mapping');

# Keys of another salt: what is the same password to a person is none to the shard.
$shard->safe_psql('postgres', q{ALTER ROLE plain PASSWORD 'secret'});
is_refused('plain', qr/ERROR:  08001: could not connect to server "shard"\n/, 'keys of another salt');
$shard->safe_psql('postgres', qq{ALTER ROLE plain PASSWORD '$verifier'});
connects('plain', 'the same keys again');

# A shard that lets anybody in: not without the keys, whatever the server's options say. postgres_fdw's
# connection, which is there already, shows what an exchange does by itself.
my $session = $coordinator->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'plain' ]);
$session->query("SET pg_exchange.enabled = off; $scan; SET pg_exchange.enabled = on;");
unlink($shard->data_dir . '/pg_hba.conf');
$shard->append_conf('pg_hba.conf', "local all all trust\n");
$shard->reload;
is_refused('plain', qr/ERROR:  08001: could not connect to server "shard"\n.*authentication/s, 'a shard that asks for nothing');
like($session->query('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;'),
	qr/Transport: exchange v1, session \(could not connect: .*authentication/, 'a shard that asks for nothing: the session reads');
$session->quit;
$coordinator->safe_psql('postgres', q{ALTER SERVER shard OPTIONS (ADD require_auth 'none')});
is_refused('plain', qr/ERROR:  08001: /, 'whatever require_auth the server has');

done_testing();
