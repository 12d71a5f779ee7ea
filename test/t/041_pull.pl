# Joins by HashPartition whose servers pull their rows from each other: the same
# rows, whatever keeps a server from doing so, and whoever ends, fails or is
# cancelled meanwhile.  Nothing is left then: no session that goes on, no shared
# memory, no file.
use strict;
use warnings;

use Exchange;
use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my @shards = map { new_shard("shard$_", extensions => [ 'postgres_fdw', 'pg_exchange' ], conf => "dynamic_shared_memory_type = mmap\npg_exchange.join_pull = on\n") } 1 .. 3;
my $coordinator = new_coordinator('coordinator', conf => "restart_after_crash = on\npg_exchange.join_exchange = hash_partition\npg_exchange.join_pull = on\n");
my @gates = map { make_gate($_) } @shards;

# What the server of a number has.
sub tables
{
	my ($i) = @_;
	return qq{
		CREATE TABLE orders_$i AS SELECT i AS id, i % 7 AS priority, i % 900 AS code, repeat(md5(i::text), 2) AS name
			FROM generate_series($i * 5000 - 4999, $i * 5000) i;
		CREATE TABLE all_items AS SELECT i AS nr, i * 7 % 18000 AS ord, i % 9 AS qty, CASE WHEN i % 2 = 0 THEN 5 ELSE i % 900 END AS code, md5(i::text) AS note,
				(SELECT string_agg(md5((i * 40 + k)::text), '') FROM generate_series(1, 40) k) AS pad
			FROM generate_series($i * 3000 - 2999, $i * 3000) i;
		CREATE VIEW items_$i AS SELECT * FROM all_items};
}
foreach my $i (1 .. 3)
{
	my $shard = $shards[$i - 1];
	$shard->safe_psql('postgres', tables($i));
	$shard->safe_psql('postgres', qq{
		CREATE OR REPLACE VIEW items_$i AS SELECT * FROM all_items WHERE CASE WHEN nr % 3000 = 1500 THEN at_gate(nr) ELSE true END;
		ANALYZE});
	add_server($coordinator, "shard$i", $shard, options => "fetch_size '1000', fdw_tuple_cost '0.01'");
}
$coordinator->safe_psql('postgres', q{
	CREATE TABLE items (nr int, ord int, qty int, code int, note text, pad text) PARTITION BY RANGE (nr);
	CREATE TABLE orders (id int, priority int, code int, name text) PARTITION BY RANGE (id)});
foreach my $i (1 .. 3)
{
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE items_$i PARTITION OF items FOR VALUES FROM ($i * 3000 - 2999) TO ($i * 3000 + 1) SERVER shard$i;
		CREATE FOREIGN TABLE orders_$i PARTITION OF orders FOR VALUES FROM ($i * 5000 - 4999) TO ($i * 5000 + 1) SERVER shard$i;
		SET pg_exchange.enabled = off;
		ANALYZE items_$i, orders_$i});
}

# Items go to the orders' partitions; or both go by the hash of their code, half
# of the items having the same one.
my $one = 'SELECT o.priority, count(*), sum(i.qty), sum(length(i.note)), max(length(o.name)) FROM orders o JOIN items i ON i.ord = o.id GROUP BY 1 ORDER BY 1';
my $two = 'SELECT o.priority, count(*), sum(i.qty), sum(length(i.note)), max(length(o.name)) FROM orders o JOIN items i ON i.code = o.code GROUP BY 1 ORDER BY 1';
# Items so wide that a queue is full before all of them are in it.
my $wide = $one =~ s/length\(i\.note\)/length(i.pad)/r;
my %rows = map { $_ => $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $_") } $one, $two;
my %links = ($one => 9, $two => 18);

my $session = open_session($coordinator);
$session->query('\set VERBOSITY verbose');
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub anew
{
	my (@settings) = @_;
	$session->quit;
	$session = open_session($coordinator);
	$session->query($_) for '\set VERBOSITY verbose', @settings;
	return;
}

# How many links of a query are pulled; or why it is not sent.
sub pulled
{
	my ($query) = @_;
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF, VERBOSE) $query");
	return $1 if $plan =~ /Not Sent: (.*)/;
	return $plan if $plan !~ /Exchange Type: HashPartition/;
	return $plan =~ /Pulled: (\d+) of (\d+) links, [1-9]\d* bytes/ ? "$1 of $2" : 'none';
}
sub is_pulled
{
	my ($name, $n, @queries) = @_;
	foreach my $query (@queries ? @queries : ($one, $two))
	{
		my $expected = $n =~ /^\d+$/ ? $n * $links{$query} / 9 . " of $links{$query}" : $n;
		is(pulled($query), $expected, "$name: so much is pulled");
		is(ask($query), $rows{$query}, "$name: the rows are right");
		is($session->{stderr}, '', "$name: there is no error");
	}
	return;
}
my $ours = q{pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name IN ('pg_exchange', 'postgres_fdw')};
sub segments
{
	return join(' ', map { scalar(my @files = glob($_->data_dir . '/pg_dynshmem/*')) } @shards);
}
my $segments = segments();
sub nothing_left
{
	my ($name) = @_;
	my $began = time();
	ok(!(grep { !$_->poll_query_until('postgres', "SELECT count(*) = 0 FROM $ours AND state <> 'idle'") } @shards), "$name: no session goes on");
	within(1, $began, $name);
	is_deeply([ map { glob($_->data_dir . '/base/pgsql_tmp/*') } @shards ], [], "$name: no file is left");
	is(segments(), $segments, "$name: no shared memory is left");
	return;
}
sub sql
{
	my ($i, $sql) = @_;
	return $shards[$i - 1]->safe_psql('postgres', $sql);
}

# ---- who can pull ---------------------------------------------------------------

# Each server finds itself, but not the others.
is_pulled('no servers', 'none');
foreach my $i (1 .. 3)
{
	add_server($shards[$i - 1], "shard$_", $shards[$_ - 1]) for grep { $_ != $i } 1 .. 3;
}

# One that has nothing to do with the join.
my $unrelated = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die $!;
sql(1, "CREATE SERVER aaa FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '" . $unrelated->sockport . "'); CREATE USER MAPPING FOR CURRENT_USER SERVER aaa");
is_pulled('all have servers', 9);
nothing_left('all have servers');
ask('SET pg_exchange.join_pull = off');
is_pulled('join_pull = off', 'none');
ask('SET pg_exchange.join_pull = on');
sub allow
{
	my ($i, $setting) = @_;
	sql($i, "LOAD 'pg_exchange'; ALTER SYSTEM SET pg_exchange.join_pull = $setting");
	$shards[$i - 1]->reload;
	ok($shards[$i - 1]->poll_query_until('postgres', "SELECT current_setting('pg_exchange.join_pull') = '$setting'"), "server $i has been told");
	return;
}
allow(3, 'off');
# A session that is there learns of it when it is idle; so do connections.
anew();
is_pulled('join_pull = off on a server', 'none');
is(label('Not Pulled', ask("EXPLAIN (ANALYZE, COSTS OFF) $one")), 'not allowed on server shard3', 'join_pull = off on a server: EXPLAIN says so');
allow(3, 'on');
is_pulled('join_pull = on on a server', 9);

sql(1, 'DROP USER MAPPING FOR CURRENT_USER SERVER shard2');
is_pulled('a server has no user mapping', 6);
is(label('Not Pulled', ask("EXPLAIN (ANALYZE, COSTS OFF) $one")), 'server shard1 has no way to server shard2', 'a server has no user mapping: EXPLAIN says who');
sql(1, q{CREATE USER MAPPING FOR CURRENT_USER SERVER shard2; ALTER SERVER shard2 OPTIONS (SET port '} . $shards[2]->port . q{')});
is_pulled('a server leads elsewhere', 6);
sql(1, q{ALTER SERVER shard2 OPTIONS (SET port '1')});
is_pulled('a server leads nowhere', 6);
sql(1, q{ALTER SERVER shard2 OPTIONS (SET port '} . $shards[1]->port . q{')});
is_pulled('it leads there again', 9);
sql(1, q{ALTER SERVER shard2 OPTIONS (SET dbname 'template1')});
is_pulled('a server leads to a database without the extension', 6);
sql(2, q{CREATE DATABASE other});
$shards[1]->safe_psql('other', 'CREATE EXTENSION pg_exchange');
sql(1, q{ALTER SERVER shard2 OPTIONS (SET dbname 'other')});
is_pulled('a server leads to another database', 6);
sql(1, q{ALTER SERVER shard2 OPTIONS (SET dbname 'postgres')});
is_pulled('it leads to the database again', 9);
sql(2, 'REVOKE EXECUTE ON FUNCTION exchange.collect(text, int) FROM PUBLIC; ALTER EXTENSION pg_exchange DROP FUNCTION exchange.pull(text)');
anew();
is_pulled('a server whose functions are not those of the extension', 'none');
sql(2, 'GRANT EXECUTE ON FUNCTION exchange.collect(text, int) TO PUBLIC; ALTER EXTENSION pg_exchange ADD FUNCTION exchange.pull(text)');
anew();
is_pulled('they are again', 9);

# The third server is another database of the first one's.
sql(1, q{CREATE DATABASE third});
$shards[0]->safe_psql('third', $_) for 'CREATE EXTENSION postgres_fdw', 'CREATE EXTENSION pg_exchange', tables(3), 'ANALYZE';
$coordinator->safe_psql('postgres', q{ALTER SERVER shard3 OPTIONS (SET port '} . $shards[0]->port . q{', SET dbname 'third')});
anew();
is_pulled('two databases of a server that have no servers for each other', 'none');
my $port = $shards[0]->port;
$_->safe_psql('postgres', "ALTER SERVER shard3 OPTIONS (SET port '$port', SET dbname 'third')") for @shards[0, 1];
is_pulled('two databases of a server, one of which has servers for all', 6);
add_server($shards[0], 'shard1', $shards[0], database => 'third');
add_server($shards[0], 'shard2', $shards[1], database => 'third');
is_pulled('two databases of a server', 9);
nothing_left('two databases of a server');
$port = $shards[2]->port;
$_->safe_psql('postgres', "ALTER SERVER shard3 OPTIONS (SET port '$port', SET dbname 'postgres')") for $coordinator, @shards[0, 1];
anew();
is_pulled('it is a server of its own again', 9);

# ---- rights ---------------------------------------------------------------------

# The coordinator's user is another one on the servers.
foreach my $i (1 .. 3)
{
	sql($i, "CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT SELECT ON items_$i, orders_$i TO reader");
	$coordinator->safe_psql('postgres', "ALTER USER MAPPING FOR CURRENT_USER SERVER shard$i OPTIONS (ADD user 'reader', ADD password 'secret'); ALTER USER MAPPING FOR CURRENT_USER SERVER shard$i OPTIONS (ADD password_required 'false')");
}
anew();
is_pulled('a user without rights or mappings', 'none');
sql($_, "DO \$\$ DECLARE s name; BEGIN FOR s IN SELECT srvname FROM pg_foreign_server LOOP EXECUTE format('CREATE USER MAPPING FOR reader SERVER %I', s); END LOOP; END \$\$") for 1 .. 3;
# What to do to all foreign servers of all shards.
sub with_servers
{
	my ($sql) = @_;
	sql($_, "DO \$\$ DECLARE s name; BEGIN FOR s IN SELECT srvname FROM pg_foreign_server LOOP EXECUTE format('$sql', s); END LOOP; END \$\$") for 1 .. 3;
	return;
}
with_servers(q{ALTER USER MAPPING FOR reader SERVER %I OPTIONS (ADD password_required ''false'')});
is_pulled('a user who needs no password, but without USAGE', 'none');
with_servers('GRANT USAGE ON FOREIGN SERVER %I TO reader');
is_pulled('a user who needs no password', 9);
with_servers(q{ALTER USER MAPPING FOR reader SERVER %I OPTIONS (DROP password_required)});
is_pulled('a user without a password', 'none');
with_servers(q{ALTER USER MAPPING FOR reader SERVER %I OPTIONS (ADD password_required ''false'')});
sql($_, "CREATE ROLE stranger; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO stranger; DO \$\$ DECLARE s name; BEGIN FOR s IN SELECT srvname FROM pg_foreign_server LOOP EXECUTE format('ALTER SERVER %I OWNER TO stranger', s); END LOOP; END \$\$") for 1 .. 3;
is_pulled('servers of somebody else', 'none');
sql($_, 'GRANT stranger TO reader') for 1 .. 3;
is_pulled('servers of a role that the user has', 9);
sql($_, "DO \$\$ DECLARE s name; BEGIN FOR s IN SELECT srvname FROM pg_foreign_server LOOP EXECUTE format('ALTER SERVER %I OWNER TO %I', s, current_user); END LOOP; END \$\$") for 1 .. 3;
$coordinator->safe_psql('postgres', "ALTER USER MAPPING FOR CURRENT_USER SERVER shard$_ OPTIONS (DROP user, DROP password, DROP password_required)") for 1 .. 3;

# ---- limits ---------------------------------------------------------------------

sub set_on_shards
{
	my (@settings) = @_;
	foreach my $shard (@shards)
	{
		$shard->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET ALL', map { "LOAD 'pg_exchange'; ALTER SYSTEM SET $_" } @settings;
		$shard->reload;
	}
	anew();
	return;
}
set_on_shards(q{pg_exchange.max_connections_per_server = 1}, q{session_preload_libraries = 'pg_exchange'});
is_pulled('enough connections of a server for one source', 9, $one);
is_pulled('too few connections of a server for two sources', 'none', $two);
set_on_shards(q{work_mem = '64kB'});
ask(q{SET pg_exchange.batch_rows_max = 1; SET pg_exchange.compression = none});
is_pulled('inboxes in files, of tiny batches', 9);
set_on_shards(q{work_mem = '64kB'}, 'temp_file_limit = 16', 'hash_mem_multiplier = 1000');
ask('SET pg_exchange.compression = none');
like(pulled($_), qr/temporary file size exceeds "?temp_file_limit/, 'no room for inboxes') for $one, $two;
is(ask($_), $rows{$_}, 'no room for inboxes: the rows are right') for $one, $two;
nothing_left('no room for inboxes');
set_on_shards(q{parallel_setup_cost = 0}, q{parallel_tuple_cost = 0}, q{min_parallel_table_scan_size = 0});
is_pulled('parallel sources', 9);
set_on_shards();

# ---- compression ----------------------------------------------------------------

sub pulled_bytes
{
	my ($settings) = @_;
	ask($settings);
	return ask("EXPLAIN (ANALYZE, COSTS OFF) $one") =~ /Pulled: .* links, (\d+) bytes/ ? $1 : 0;
}
my $plain = pulled_bytes('SET pg_exchange.compression = high_compression');
my $small = pulled_bytes('SET pg_exchange.local_scope = none');
cmp_ok($small, '>', 0, 'links that count as remote: rows are pulled');
cmp_ok($small, '<', 0.8 * $plain, 'rows are compressed only where the link is not local');
ask('SET pg_exchange.compression = none');
is(pulled_bytes('SET pg_exchange.local_scope = none') > 0.95 * $plain ? 1 : 0, 1, 'the mode counts for links that are not local');
anew();

# ---- errors and ends --------------------------------------------------------------

sub in_gate
{
	my ($what, $query) = @_;
	$query //= $two;
	$gates[1]->query('SELECT pg_advisory_lock(7)');
	my $background = $coordinator->background_psql('postgres', on_error_stop => 0);
	$background->query_until(qr/begun/, "\\echo begun\nSET statement_timeout = 0;\n$query;\n\\echo ended\n");
	ok($shards[1]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), "$what: the query stands at the gate");
	ok($shards[0]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT exchange.pull%' AND state = 'active'}), "$what: a server pulls");
	return $background;
}
sub end_of
{
	my ($what, $background) = @_;
	my $began = time();
	$gates[1]->query('SELECT pg_advisory_unlock(7)');
	my $out = $background->query('SELECT 1');
	within(5, $began, $what);
	my $err = $background->{stderr};
	eval { $background->quit };
	nothing_left($what);
	is_pulled("after $what", 9);
	return ($out, $err);
}
my ($background, $out, $err);

$background = in_gate('a cancel here');
$coordinator->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders o JOIN items%' AND pid <> pg_backend_pid()});
($out, $err) = end_of('a cancel here', $background);
like($err, qr/canceling statement due to user request/, 'a cancel here: it is the only error');

$background = in_gate('the coordinator\'s session is killed');
$coordinator->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders o JOIN items%' AND pid <> pg_backend_pid()});
my $began = time();
$gates[1]->query('SELECT pg_advisory_unlock(7)');
eval { $background->{timeout}->reset; $background->quit };
nothing_left('the coordinator\'s session is killed');
within(5, $began, 'the coordinator\'s session is killed');
is_pulled('after that', 9);

foreach my $victim (
	[ 'a puller is cancelled', 0, q{pg_cancel_backend(pid)}, q{query LIKE 'SELECT exchange.pull%'} ],
	[ 'a collector is cancelled', 1, q{pg_cancel_backend(pid)}, q{query LIKE 'SELECT exchange.collect%'} ],
	[ 'a collector is killed', 1, q{pg_terminate_backend(pid)}, q{query LIKE 'SELECT exchange.collect%'} ])
{
	my ($name, $i, $action, $who) = @$victim;
	$background = in_gate($name, "EXPLAIN (ANALYZE, COSTS OFF) $two");
	cmp_ok(sql($i + 1, "SELECT count($action) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND $who"), '>', 0, "$name: there is one");
	($out, $err) = end_of($name, $background);
	is($err, '', "$name: the join runs on the coordinator");
	like($out, qr/Not Sent: shard\d: /, "$name: EXPLAIN names the server") or diag($out);
}
$background = in_gate('a sender is killed');
sql(2, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT exchange.send(%'});
($out, $err) = end_of('a sender is killed', $background);
ok($err eq '' || $err =~ /terminat|server closed the connection/, 'a sender is killed: it is an error of the query, or the join runs on the coordinator') or diag($err);

# An error of a source is the query's, whoever sees it first.
sql(3, q{CREATE OR REPLACE VIEW items_3 AS SELECT nr, ord, qty / (nr - 7500) AS qty, code, note, pad FROM all_items});
ask($_), like($session->{stderr}, qr/ERROR:  22012: division by zero/, 'an error of a source') for $one, $two;
nothing_left('an error of a source');
sql(3, q{CREATE OR REPLACE VIEW items_3 AS SELECT nr, ord, qty, code, note, pad FROM all_items});

# The coordinator's server is gone at once, while sources wait at their gates.
$background = in_gate('a crash of the coordinator');
my $pid = $coordinator->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders o JOIN items%' AND pid <> pg_backend_pid()});
kill 'KILL', $pid;
ok($shards[0]->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE 'SELECT exchange.pull%' AND state = 'active'}), 'a crash of the coordinator: no server pulls any more');
$gates[1]->query('SELECT pg_advisory_unlock(7)');
eval { $background->quit };
wait_until_up($coordinator);
$session = open_session($coordinator);
$session->query('\set VERBOSITY verbose');
nothing_left('a crash of the coordinator');
is_pulled('after a crash of the coordinator', 9);

# Who collects is stopped, and the queues for it are full: senders end all the same.
sub with_full_queue
{
	my ($what) = @_;
	$gates[1]->query('SELECT pg_advisory_lock(7)');
	my $psql = $coordinator->background_psql('postgres', on_error_stop => 0);
	$psql->query_until(qr/begun/, "\\echo begun\nSET statement_timeout = 0;\n$wide;\n\\echo ended\n");
	ok($shards[1]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), "$what: the query stands at the gate");
	my @stopped = split(/\n/, sql(2, q{SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT exchange.collect%'}));
	cmp_ok(scalar(@stopped), '>', 0, "$what: there are collectors");
	kill 'STOP', @stopped;
	$gates[1]->query('SELECT pg_advisory_unlock(7)');
	ok($shards[1]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'MessageQueueSend'}), "$what: a sender waits in a full queue");
	return ($psql, @stopped);
}
my $active = 'SELECT count(*) FROM pg_stat_activity WHERE pid <> ALL (ARRAY[%s]::int[]) AND pid <> pg_backend_pid() AND state = \'active\' AND query LIKE \'SELECT exchange.%%\'';

($background, my @stopped) = with_full_queue('a crash while queues are full');
kill 'KILL', $coordinator->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders o JOIN items%' AND pid <> pg_backend_pid()});
ok($shards[1]->poll_query_until('postgres', sprintf($active, join(',', @stopped)) =~ s/count/0 = count/r), 'a crash while queues are full: no sender waits for who is stopped');
kill 'CONT', @stopped;
eval { $background->quit };
wait_until_up($coordinator);
$session = open_session($coordinator);
$session->query('\set VERBOSITY verbose');
nothing_left('a crash while queues are full');

# All sessions but those that are stopped end their work, however long these are.
($background, @stopped) = with_full_queue('a cancel while queues are full');
$coordinator->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM orders o JOIN items%' AND pid <> pg_backend_pid()});
foreach my $i (1 .. 3)
{
	ok($shards[$i - 1]->poll_query_until('postgres', sprintf($active, join(',', $i == 2 ? @stopped : ())) =~ s/count/0 = count/r), "a cancel while queues are full: server $i has ended its work");
}
like($background->query('SELECT 1'), qr/ended/, 'a cancel while queues are full: the statement has ended');
like($background->{stderr}, qr/canceling statement due to user request/, 'a cancel while queues are full: it is the error');
kill 'CONT', @stopped;
eval { $background->quit };
nothing_left('a cancel while queues are full');
is_pulled('after a cancel while queues are full', 9);

# ---- LIMIT, own writes, two at once -----------------------------------------------

is(ask("SELECT count(*) FROM (SELECT o.id FROM orders o JOIN items i ON i.code = o.code LIMIT 10) x"), 10, 'LIMIT');
nothing_left('LIMIT');
ask('BEGIN; UPDATE orders SET priority = 0 WHERE id = 7');
is(ask($one), $session->query("SET LOCAL pg_exchange.enabled = off; $one"), 'own writes are seen');
ask('ROLLBACK');
ask(q{BEGIN; INSERT INTO items SELECT 3001, 1, 1000, 5, 'own', 'own' FROM generate_series(1, 5000); DELETE FROM items WHERE nr BETWEEN 1 AND 100});
isnt(my $own = ask($one), $rows{$one}, 'own writes on sources change the rows');
is($own, $session->query("SET LOCAL pg_exchange.enabled = off; $one"), 'own writes on sources are seen');
ask('ROLLBACK');
is_pulled('after own writes', 9);

# The snapshot is that of the transaction, on the sources, too.  So are the locks.
ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders; SELECT count(*) FROM items');
sql(2, 'CREATE TABLE kept AS SELECT * FROM all_items; DELETE FROM all_items WHERE nr % 2 = 0');
is_pulled('rows that others have deleted meanwhile', 9);
my ($status, undef, $refused) = $shards[1]->psql('postgres', q{SET lock_timeout = '100ms'; ALTER TABLE all_items ADD COLUMN more int});
like($refused, qr/lock timeout/, 'a lock on the source is kept by the transaction');
ask('COMMIT');
isnt(ask($one), $rows{$one}, 'rows that others have deleted are not there after it');
sql(2, 'TRUNCATE all_items; INSERT INTO all_items SELECT * FROM kept; DROP TABLE kept; ANALYZE all_items');
is_pulled('they are there again', 9);
$gates[1]->query('SELECT pg_advisory_lock(7)');
my @both = map { $coordinator->background_psql('postgres', on_error_stop => 0) } 1, 2;
$_->query_until(qr/begun/, "\\echo begun\n$two;\n\\echo ended\n") for @both;
ok($shards[1]->poll_query_until('postgres', q{SELECT count(DISTINCT pid) = 2 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), 'two sessions at once: both stand at the gate');
ok($shards[0]->poll_query_until('postgres', q{SELECT count(*) = 2 FROM pg_stat_activity WHERE query LIKE 'SELECT exchange.pull%' AND state = 'active'}), 'two sessions at once: a server pulls for both');
$gates[1]->query('SELECT pg_advisory_unlock(7)');
like($_->query('SELECT 1'), qr/^\Q$rows{$two}\E\nended\n1$/, 'two sessions at once: the rows are right') for @both;
$_->quit for @both;
nothing_left('two sessions at once');
is_pulled('at last', 9);

# ---- what is left alone -----------------------------------------------------------

# Sources that cannot all be held begin one after the other.
ask('SET pg_exchange.max_connections_per_server = 2');
is_pulled('too few connections for all sources', 'none', $two);
ask('RESET pg_exchange.max_connections_per_server');
is_pulled('enough of them', 9);
ok(!IO::Select->new($unrelated)->can_read(0), 'a server that has nothing to do with the join was not connected to');

eval { $_->quit } for $session, @gates;
done_testing();
