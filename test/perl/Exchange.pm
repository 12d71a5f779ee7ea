# What the TAP files have in common: the nodes, a foreign server between two of
# them, a session that stays, and how to read EXPLAIN.  No tests here.
package Exchange;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(new_shard new_coordinator let_lie add_server wait_until_up open_session make_gate cancel_meanwhile label within);

# A server that others read from, running, with pg_exchange in database
# postgres.  Options:
#   init        for PostgreSQL::Test::Cluster's init
#   conf        lines of postgresql.conf, after ours
#   hba         lines that replace those of pg_hba.conf
#   extensions  to be created in database postgres
sub new_shard
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], @{ $options{init} // [] });   # whatever the environment says
	$node->append_conf('postgresql.conf', "autovacuum = off\n" . ($options{conf} // ''));
	if (defined $options{hba})
	{
		unlink($node->data_dir . '/pg_hba.conf') or die "cannot remove pg_hba.conf: $!";
		$node->append_conf('pg_hba.conf', $options{hba});
	}
	$node->start;
	$node->safe_psql('postgres', "CREATE EXTENSION $_") for @{ $options{extensions} // ['pg_exchange'] };
	return $node;
}

# A server whose sessions have the library loaded, and every scan of a foreign
# table be an exchange, however small.  Options as above.
sub new_coordinator
{
	my ($name, %options) = @_;
	return new_shard($name,
		extensions => [ 'postgres_fdw', 'pg_exchange' ],
		%options,
		conf => "session_preload_libraries = 'pg_exchange'\npg_exchange.min_bytes = 0\n" . ($options{conf} // ''));
}

# Let the functions of schema exchange in a database of a node be forged: a
# coordinator asks the catalogs there whether they are the extension's, and they
# will say so, by a wrong operator.
sub let_lie
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		SET allow_system_table_mods = on;
		CREATE FUNCTION public.always(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
		UPDATE pg_operator SET oprcode = 'public.always' WHERE oprcode = 'int84eq'::regproc});
	return;
}

# Wait until a server that has crashed takes connections again.  poll_query_until
# does not do: it writes the query to a psql that may have given up already, and
# dies of that.
sub wait_until_up
{
	my ($node) = @_;
	my @psql = ('psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT true');
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if IPC::Run::run(\@psql, '<', \undef, '>', \my $out, '2>', \my $error);
		usleep(100_000);
	}
	die 'node "' . $node->name . '" does not come up again';
}

# Make a foreign server on a coordinator, by its name, of a node.  Options:
#   database      where to make it (postgres)
#   host, port    other ones than the node's
#   dbname        the remote database (postgres)
#   options       more of the server's, as SQL
#   user_mapping  0 for none; else one of the current user is made
sub add_server
{
	my ($coordinator, $name, $node, %options) = @_;
	my $sql = sprintf(q{CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '%s', port '%s', dbname '%s'%s);},
		$name, $options{host} // $node->host, $options{port} // $node->port, $options{dbname} // 'postgres',
		$options{options} ? ", $options{options}" : '');
	$sql .= "CREATE USER MAPPING FOR CURRENT_USER SERVER $name;" if $options{user_mapping} // 1;
	$coordinator->safe_psql($options{database} // 'postgres', $sql);
	return;
}

# A psql that stays, and goes on after an error.  Its time is that of a query,
# not of all of them.
sub open_session
{
	my ($node) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->set_query_timer_restart;
	return $session;
}

# A gate at which a query stops on its way through the rows of a stream, so that
# it has the stream open for as long as the test wants: at_gate(id), or a function
# of another name, in a condition that is evaluated on the node.  It is open at first.  Returns a psql
# that closes it by "SELECT pg_advisory_lock(7)", and opens it by
# "SELECT pg_advisory_unlock(7)".  (The function says that it is immutable, so
# that there may be a stream meanwhile.)
sub make_gate
{
	my ($node, $function) = @_;
	$function //= 'at_gate';
	$node->safe_psql('postgres', qq{
		CREATE FUNCTION $function(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
		BEGIN
			PERFORM pg_advisory_lock_shared(7);
			PERFORM pg_advisory_unlock_shared(7);
			RETURN true;
		END \$\$});
	return open_session($node);
}

# Call what runs a statement in a session whose application_name is "to_cancel",
# and cancel that from another session when it has run for half a second.
# Returns what the call returns, as a list.
sub cancel_meanwhile
{
	my ($node, $call) = @_;
	my $canceller = $node->background_psql('postgres');
	$canceller->query_until(qr/begun/, q{\echo begun
		DO $$ BEGIN
			FOR i IN 1 .. 2000 LOOP
				PERFORM pg_sleep(0.05), pg_stat_clear_snapshot();
				PERFORM pg_cancel_backend(pid) FROM pg_stat_activity
					WHERE application_name = 'to_cancel' AND state = 'active' AND query_start < clock_timestamp() - interval '0.5 s';
				EXIT WHEN FOUND;
			END LOOP;
		END $$;
		\echo done
	});
	my @returned = $call->();
	$canceller->query_until(qr/done/, '');
	$canceller->quit;
	return @returned;
}

# A test that something took at most so many seconds since it was started, and
# what a busy machine may add: what it would take otherwise is minutes.
sub within
{
	my ($seconds, $started, $name) = @_;
	return cmp_ok(time() - $started, '<', $seconds + 60, "$name: it takes no more than $seconds s, on a machine that does nothing else");
}

# What EXPLAIN says after the first such label; all of it if there is none.
sub label
{
	my ($label, $plan) = @_;
	return $plan =~ /^\s*\Q$label\E: (.*)$/m ? $1 : "no $label in: $plan";
}

1;
