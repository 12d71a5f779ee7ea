# The schema that the extension is installed into must not be a stranger's: who
# owns it, or may create objects in it, could have the views of the extension
# use an operator of theirs, or put a function of theirs beside or in place of ours.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_shard('node', extensions => []);
$node->safe_psql('postgres', 'CREATE ROLE eve LOGIN; CREATE ROLE other SUPERUSER LOGIN');

my $ndatabases = 0;

# A database in which eve may create schemas.
sub new_database
{
	my $name = 'install_' . ++$ndatabases;
	$node->safe_psql('postgres', "CREATE DATABASE $name; GRANT CREATE ON DATABASE $name TO eve");
	return $name;
}

sub run_as
{
	my ($user, $database, $sql) = @_;
	return $node->safe_psql($database, $sql, extra_params => [ '-U', $user ]);
}

# The installation must fail, and leave nothing.
sub is_refused
{
	my ($database, $what, $name, $sql) = @_;
	my ($status, $out, $err) = $node->psql($database, $sql // 'CREATE EXTENSION pg_exchange');
	isnt($status, 0, "$name: it is refused");
	like($err, qr/ERROR:  schema "exchange" is not safe for extension "pg_exchange".*DETAIL:  $what.*HINT:/s, "$name: the error says why");
	return;
}

sub is_installed
{
	my ($database, $name, $sql, $user) = @_;
	run_as($user // 'postgres', $database, $sql // 'CREATE EXTENSION pg_exchange');
	is($node->safe_psql($database, q{SELECT extversion FROM pg_extension WHERE extname = 'pg_exchange'}), '1.1', $name);
	return;
}

# --- What is refused -----------------------------------------------------

my $trojan = q{
	CREATE FUNCTION exchange.mul(numeric, bigint) RETURNS numeric LANGUAGE plpgsql
		AS $$BEGIN EXECUTE 'ALTER ROLE eve SUPERUSER'; RETURN 0; END$$;
	CREATE OPERATOR exchange.* (LEFTARG = numeric, RIGHTARG = bigint, FUNCTION = exchange.mul);
};

my $db = new_database();
run_as('eve', $db, "CREATE SCHEMA exchange; $trojan");
is_refused($db, 'It is owned by role "eve"', q{a stranger's schema});
is($node->safe_psql($db, 'SELECT count(*) FROM pg_extension WHERE extname = \'pg_exchange\''), '0', 'nothing is installed');

$db = new_database();
$node->safe_psql($db, 'CREATE SCHEMA exchange; GRANT CREATE, USAGE ON SCHEMA exchange TO PUBLIC');
is_refused($db, 'Role "PUBLIC" may create objects in it', 'a schema that all may create in');

$db = new_database();
$node->safe_psql($db, 'CREATE SCHEMA exchange; GRANT CREATE, USAGE ON SCHEMA exchange TO eve');
run_as('eve', $db, $trojan);
is_refused($db, 'Role "eve" may create objects in it', 'a schema that a stranger may create in');
$node->safe_psql($db, 'REVOKE CREATE ON SCHEMA exchange FROM eve');
is_refused($db, 'It contains \S+ [^"]+, which is owned by role "eve"', q{a stranger's objects});
$node->safe_psql($db, 'DROP FUNCTION exchange.mul CASCADE');
is_installed($db, 'without them it is installed');

# Operators, collations and the like of the objects in the checks' search_path.
$db = new_database();
run_as('eve', $db, q{
	CREATE SCHEMA exchange;
	CREATE FUNCTION exchange.equal(oid, oid) RETURNS boolean LANGUAGE plpgsql
		AS $$BEGIN EXECUTE 'ALTER ROLE eve SUPERUSER'; RETURN false; END$$;
	CREATE OPERATOR exchange.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = exchange.equal);
	CREATE FUNCTION exchange.current_user() RETURNS name LANGUAGE sql AS $$SELECT 'eve'::name$$;
	CREATE TYPE exchange.text AS (i int);
	CREATE TABLE exchange.pg_namespace (oid oid, nspname name, nspowner oid);
});
is_refused($db, 'It is owned by role "eve"', 'objects that would hide');
is($node->safe_psql($db, q{SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'}), 'f', 'eve is who she was');

# --- What is not ---------------------------------------------------------

$db = new_database();
is_installed($db, 'a schema that the extension makes');
$node->safe_psql($db, 'DROP EXTENSION pg_exchange');
is_installed($db, 'the schema that it has left, by another superuser', undef, 'other');

$db = new_database();
$node->safe_psql($db, q{CREATE SCHEMA exchange; CREATE TABLE exchange.note (t text); GRANT USAGE ON SCHEMA exchange TO eve});
is_installed($db, q{an administrator's schema, with a table of theirs});

# --- Updates -------------------------------------------------------------

$db = new_database();
$node->safe_psql($db, q{CREATE EXTENSION pg_exchange VERSION '1.0'});
is_installed($db, 'an update', 'ALTER EXTENSION pg_exchange UPDATE', 'other');

$db = new_database();
run_as('eve', $db, "CREATE SCHEMA exchange; $trojan");
$node->safe_psql($db, q{CREATE EXTENSION pg_exchange VERSION '1.0'});
is_refused($db, 'It is owned by role "eve"', q{an update in a stranger's schema}, 'ALTER EXTENSION pg_exchange UPDATE');
$node->safe_psql($db, 'ALTER SCHEMA exchange OWNER TO postgres');
is_refused($db, 'It contains', q{an update beside a stranger's objects}, 'ALTER EXTENSION pg_exchange UPDATE');
$node->safe_psql($db, 'ALTER FUNCTION exchange.mul OWNER TO postgres; ALTER OPERATOR exchange.* (numeric, bigint) OWNER TO postgres');
is_installed($db, 'an update after the hint', 'ALTER EXTENSION pg_exchange UPDATE');

# Whatever is in the schema, no view of the extension uses it.
is($node->safe_psql($db, q{
	SELECT count(*) FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class c ON c.oid = r.ev_class
	WHERE c.relnamespace = 'exchange'::regnamespace AND d.refclassid = 'pg_operator'::regclass}),
	'0', 'the views use no operator but built-in ones');

done_testing();
