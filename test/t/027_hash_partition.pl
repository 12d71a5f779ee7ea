# Joins by HashPartition that are hindered: an error of a source or of a
# fragment, no room for an inbox, a lock, sessions that end, cancels and
# time-outs in each stage, slow targets, idle time-outs, two joins at once. The
# query ends with its rows or with one error, and nothing is left on the servers.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my @shards = map { new_shard("shard$_") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.join_exchange = hash_partition\npg_exchange.local_scope = none\n");

# A row in the midst of each item table stands at a gate, a row of each order
# table at another one.
my (@gates, $number);
foreach my $shard (@shards)
{
	$number++;
	push @gates, make_gate($shard);
	$shard->safe_psql('postgres', qq{
		CREATE FUNCTION at_second_gate(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
		BEGIN
			PERFORM pg_advisory_lock_shared(8);
			PERFORM pg_advisory_unlock_shared(8);
			RETURN true;
		END \$\$;
		CREATE TABLE all_orders AS SELECT i AS id, i % 7 AS priority, i % 900 AS code, repeat(md5(i::text), 2) AS name
			FROM generate_series($number * 5000 - 4999, $number * 5000) i;
		CREATE TABLE all_items AS SELECT i AS nr, i * 7 % 12000 AS ord, i % 9 AS qty, i % 900 AS code, md5(i::text) AS note, repeat(md5(i::text), 60) AS filler
			FROM generate_series($number * 3000 - 2999, $number * 3000) i;
		ANALYZE;
		CREATE VIEW orders_$number AS SELECT * FROM all_orders WHERE CASE WHEN id % 5000 = 2500 THEN at_second_gate(id) ELSE true END;
		CREATE VIEW items_$number AS SELECT * FROM all_items WHERE CASE WHEN nr % 3000 = 1500 THEN at_gate(nr) ELSE true END;
		CREATE VIEW faulty_items_$number AS SELECT nr, ord, qty, code, note FROM all_items});
	add_server($coordinator, "shard$number", $shard, options => "fetch_size '1000', fdw_tuple_cost '0.01'");
}
foreach my $items ('items', 'faulty_items')
{
	my $filler = $items eq 'items' ? ', filler text' : '';
	$coordinator->safe_psql('postgres', qq{
		CREATE TABLE $items (nr int, ord int, qty int, code int, note text$filler) PARTITION BY RANGE (nr);
		CREATE FOREIGN TABLE ${items}_1 PARTITION OF $items FOR VALUES FROM (1) TO (3001) SERVER shard1;
		CREATE FOREIGN TABLE ${items}_2 PARTITION OF $items FOR VALUES FROM (3001) TO (6001) SERVER shard2});
}
$coordinator->safe_psql('postgres', q{
	CREATE TABLE orders (id int, priority int, code int, name text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE orders_1 PARTITION OF orders FOR VALUES FROM (MINVALUE) TO (5001) SERVER shard1;
	CREATE FOREIGN TABLE orders_2 PARTITION OF orders FOR VALUES FROM (5001) TO (MAXVALUE) SERVER shard2;
	SET pg_exchange.enabled = off;
	ANALYZE items_1, items_2, faulty_items_1, faulty_items_2, orders_1, orders_2});
$shards[1]->safe_psql('postgres', 'CREATE OR REPLACE VIEW faulty_items_2 AS SELECT nr, ord, qty / (nr - 4500) AS qty, code, note FROM all_items');

# Items go to the orders' partitions; or both go by the hash of their code.
my $one = 'SELECT o.priority, count(*), sum(i.qty), sum(length(i.note)), max(length(o.name)) FROM orders o JOIN items i ON i.ord = o.id GROUP BY 1 ORDER BY 1';
my $two = 'SELECT o.priority, count(*), sum(i.qty), sum(length(i.note)), max(length(o.name)) FROM orders o JOIN items i ON i.code = o.code GROUP BY 1 ORDER BY 1';
my %rows = map { $_ => $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $_") } $one, $two;
my %names = ($one => 'one side', $two => 'both sides');

my $session = open_session($coordinator);
$session->query('\set VERBOSITY verbose');
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub way
{
	my ($query) = @_;
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF) $query");
	return $plan =~ /Exchange Type: HashPartition/ ? $plan =~ /Not Sent: (.*)/ ? $1 : 'moved' : $plan;
}
my $ours = q{pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name IN ('pg_exchange', 'postgres_fdw')};
sub nothing_left
{
	my ($name, $also) = @_;
	my $began = time();
	$also //= '';
	ok(!(grep { !$_->poll_query_until('postgres', "SELECT count(*) = 0 FROM $ours AND state <> 'idle' $also") } @shards), "$name: no session goes on");
	within(1, $began, $name);
	is_deeply([ map { glob($_->data_dir . '/base/pgsql_tmp/*') } @shards, $coordinator ], [], "$name: no temporary file is left");
	return;
}
sub goes_on
{
	my ($name) = @_;
	nothing_left($name);
	is(ask($_), $rows{$_}, "$name: the next query has its rows, $names{$_}") for $one, $two;
	is(way($_), 'moved', "$name: they are moved again, $names{$_}") for $one, $two;
	is($session->{stderr}, '', "$name: there is no further error");
	return;
}
goes_on('at first');

# A gather around it begins nothing ahead, whose inboxes are empty yet.
my @logged = map { -s $_->logfile } @shards;
my $both = "SELECT * FROM ($two) q UNION ALL SELECT qty, count(*), 0, 0, 0 FROM items GROUP BY 1";
like(ask("EXPLAIN (COSTS OFF) $both"), qr/Exchange Type: Gather(.*\n)+.*Exchange Type: HashPartition/m, 'below a gather');
ask($both);
unlike(slurp_file($shards[$_]->logfile, $logged[$_]), qr/ERROR/, "below a gather: shard$_ has no error") for 0, 1;

# ---- errors of queries ----------------------------------------------------------

foreach my $query ($one, $two)
{
	(my $faulty = $query) =~ s/items i/faulty_items i/;
	ask($faulty);
	like($session->{stderr}, qr/ERROR:  22012: division by zero\n(.*\n)*CONTEXT:  .*remote SQL command: .*faulty_items_2/m, "error of a source, $names{$query}: it is the query's");
	unlike($session->{stderr}, qr/ERROR(.*\n)*.*ERROR/, "error of a source, $names{$query}: there is no other");
	goes_on("error of a source, $names{$query}");

	(my $wrong = $query) =~ s/sum\(i.qty\)/sum(i.qty \/ (o.id - 7000))/;
	ask($wrong);
	like($session->{stderr}, qr/ERROR:  22012: division by zero\n(.*\n)*CONTEXT:  .*remote SQL command: .*inbox/m, "error of a fragment, $names{$query}: it is the query's");
	goes_on("error of a fragment, $names{$query}");
}

# ---- no room --------------------------------------------------------------------

sub set_on_shards
{
	my (@settings) = @_;
	foreach my $shard (@shards)
	{
		$shard->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET ALL', map { "ALTER SYSTEM SET $_" } @settings;
		$shard->reload;
	}
	$session->quit;
	$session = open_session($coordinator);
	$session->query('\set VERBOSITY verbose');
	return;
}
# (The fragments' hash tables have room. fdw_tuple_cost is as before 17: with 0.2,
# it seems to postgres_fdw that a sort on the shard costs nothing.)
set_on_shards('temp_file_limit = 16', q{work_mem = '64kB'}, 'hash_mem_multiplier = 1000');
ask('SET pg_exchange.compression = none');
foreach my $query ($one, $two)
{
	like(way($query), qr/temporary file size exceeds "?temp_file_limit/ , "no room for inboxes, $names{$query}: EXPLAIN says so");
	is(ask($query), $rows{$query}, "no room for inboxes, $names{$query}: the rows come");
	is($session->{stderr}, '', "no room for inboxes, $names{$query}: there is no error");
}
nothing_left('no room for inboxes');
set_on_shards(q{work_mem = '64kB'});
ask('SET pg_exchange.compression = none; SET pg_exchange.receive_buffer = \'64kB\'; SET pg_exchange.batch_rows_max = 1; SET work_mem = \'64kB\'');
goes_on('inboxes in files, of tiny batches');
set_on_shards();

# ---- stages ---------------------------------------------------------------------

# Hold a query in a stage: the one of its sources, or of its fragments.
my $background;
my %stages = (
	source => { lock => 7, at => 'exchange.send%', at_shard => 0 },
	fragment => { lock => 8, at => 'exchange.send%exchange.inbox%', at_shard => 1 });
sub hold
{
	my ($stage, $query) = @_;
	my ($lock, $at, $shard) = @{ $stages{$stage} }{qw(lock at at_shard)};
	$gates[$shard]->query("SELECT pg_advisory_lock($lock)");
	$background = open_session($coordinator);
	$background->query('\set VERBOSITY verbose');
	$background->query('SET pg_exchange.batch_rows_max = 50');
	my $pid = $background->query('SELECT pg_backend_pid()');
	$background->{stderr} = '';
	$background->query_until(qr/asked/, "\\echo asked\n$query;\n");
	$shards[$shard]->poll_query_until('postgres', "SELECT count(*) > 0 FROM $ours AND wait_event = 'advisory' AND query LIKE '%$at'")
		or die "the query is not in stage $stage: " . $background->{stderr};
	return $pid;
}
sub release
{
	my ($stage) = @_;
	$gates[$stages{$stage}{at_shard}]->query("SELECT pg_advisory_unlock($stages{$stage}{lock})");
	return;
}
sub answer
{
	my $rows = $background->query("\\echo answered");
	$rows =~ s/\n?answered$//;
	$background->quit;
	return $rows;
}

# Does the query still come to its rows when the stage goes on?
foreach my $stage (sort keys %stages)
{
	# Both sides have all their gates where they are sources.
	foreach my $query ($stage eq 'source' ? ($one, $two) : $one)
	{
		my $name = "stage $stage, $names{$query}";
		hold($stage, $query);
		release($stage);
		is(answer(), $rows{$query}, "$name: the rows come when it goes on");

		my $pid = hold($stage, $query);
		my $began = time();
		$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
		is(answer(), '', "$name, cancelled: no row comes");
		like($background->{stderr}, qr/ERROR:  57014: canceling statement due to user request/m, "$name, cancelled: that is the error");
		within(1, $began, "$name, cancelled");
		nothing_left("$name, cancelled");
		release($stage);

		ask('BEGIN');
		is(ask($query), $rows{$query}, "$name, time-out: the rows come before it");
		$gates[$stages{$stage}{at_shard}]->query("SELECT pg_advisory_lock($stages{$stage}{lock})");
		$began = time();
		ask("SET LOCAL pg_exchange.batch_rows_max = 50; SAVEPOINT s; SET LOCAL statement_timeout = '1s'");
		ask($query);
		like($session->{stderr}, qr/ERROR:  57014: canceling statement due to statement timeout/m, "$name, time-out: that is the error");
		ask('ROLLBACK TO SAVEPOINT s');
		within(2, $began, "$name, time-out");
		nothing_left("$name, time-out", q{AND application_name = 'pg_exchange'});
		release($stage);
		is(ask($query), $rows{$query}, "$name, time-out: the rows come after the savepoint");
		ask('COMMIT');
		goes_on("$name, time-out");
	}
}

# Sessions that end: of a source, of a target that waits, of a fragment.
sub terminate
{
	my ($shard, $condition) = @_;
	return $shards[$shard]->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) FROM $ours AND $condition");
}
foreach my $query ($one, $two)
{
	hold('source', $query);
	is(terminate(0, q{application_name = 'pg_exchange' AND wait_event = 'advisory'}), 1, "a source's session ends, $names{$query}");
	is(answer(), '', "a source's session ends, $names{$query}: no row comes");
	like($background->{stderr}, qr/ERROR:  (57P01|08006): /m, "a source's session ends, $names{$query}: that is the error");
	release('source');
	goes_on("a source's session ends, $names{$query}");

	hold('source', "EXPLAIN (ANALYZE, COSTS OFF) $query");
	is(terminate(1, q{application_name = 'pg_exchange' AND state = 'idle in transaction'}), 1, "a target's session ends, $names{$query}");
	release('source');
	like(answer(), qr/Not Sent: /, "a target's session ends, $names{$query}: the join runs here");
	is($background->{stderr}, '', "a target's session ends, $names{$query}: there is no error");
	goes_on("a target's session ends, $names{$query}");
}
hold('fragment', $one);
is(terminate(1, q{application_name = 'pg_exchange' AND wait_event = 'advisory'}), 1, "a fragment's session ends");
is(answer(), '', "a fragment's session ends: no row comes");
like($background->{stderr}, qr/ERROR:  (57P01|08006): /m, "a fragment's session ends: that is the error");
release('fragment');
goes_on("a fragment's session ends");

# ---- a lock on a target's table ---------------------------------------------------

# Somebody waits to lock the table. postgres_fdw's session has it already, but
# a stream would wait for whoever waits.
my $locker = open_session($shards[1]);
ask('BEGIN');
is(way($one), 'moved', 'a lock: rows are moved before it');
$locker->query_until(qr/asked/, "\\echo asked\nBEGIN; LOCK all_orders IN ACCESS EXCLUSIVE MODE; COMMIT;\n");
$shards[1]->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}) or die 'nobody waits for the lock';
like(way($one), qr/lock timeout/, 'a lock: the join runs here');
is(ask($one), $rows{$one}, 'a lock: the rows come');
is($session->{stderr}, '', 'a lock: there is no error');
ask('COMMIT');
$locker->query('SELECT 1');
$locker->quit;
goes_on('a lock');

# ---- idle time-outs ---------------------------------------------------------------

set_on_shards(q{idle_in_transaction_session_timeout = '1s'});
foreach my $query ($one, $two)
{
	hold('source', "EXPLAIN (ANALYZE, COSTS OFF) $query");
	sleep(4);
	release('source');
	my $plan = answer();
	like($plan, qr/HashPartition/, "idle time-outs: the fill may take longer, $names{$query}");
	unlike($plan, qr/Not Sent/, "idle time-outs: rows are moved, $names{$query}");
	is($background->{stderr}, '', "idle time-outs: there is no error, $names{$query}");
}

# While it is held, a session's time-out is not less than five minutes. A view's
# function tells what it is when the fragment is planned there.
my $was = $shards[0]->safe_psql('postgres', q{SELECT pg_get_viewdef('orders_1')});
$shards[0]->safe_psql('postgres', qq{
	CREATE FUNCTION tell_timeout() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
	BEGIN
		RAISE LOG 'idle time-out is %', current_setting('idle_in_transaction_session_timeout');
		RETURN true;
	END \$\$;
	CREATE OR REPLACE VIEW orders_1 AS SELECT * FROM all_orders WHERE CASE WHEN id % 5000 = 2500 THEN at_second_gate(id) ELSE true END AND tell_timeout()});
foreach my $case ([ '1s', '5min' ], [ '1h', '1h' ], [ '0', '0' ])
{
	my ($own, $held) = @$case;
	set_on_shards("idle_in_transaction_session_timeout = '$own'");
	my $offset = -s $shards[0]->logfile;
	is(way($one), 'moved', "idle time-outs: rows are moved, $own");
	my @told = slurp_file($shards[0]->logfile, $offset) =~ /pg_exchange LOG:  idle time-out is (.*)/g;
	is($told[0], $held, "idle time-outs: it is $held while the fragment waits for its rows, $own otherwise");
}
$shards[0]->safe_psql('postgres', "CREATE OR REPLACE VIEW orders_1 AS $was");

# Once the fragment's work is done it is the session's own again, whatever has
# become of the coordinator.
set_on_shards(q{idle_in_transaction_session_timeout = '1s'});
my $vanished = hold('fragment', $one);
kill 'STOP', $vanished;
release('fragment');
ok(!(grep { !$_->poll_query_until('postgres', "SELECT count(*) = 0 FROM $ours AND state <> 'idle'") } @shards), 'idle time-outs: no session waits for a coordinator that has vanished');
kill 'CONT', $vanished;
answer();
set_on_shards();
goes_on('idle time-outs');

# ---- a target that is slow --------------------------------------------------------

# The sources wait for it, and nothing goes into a file on the coordinator.
my $wide = 'SELECT o.priority, count(*), sum(length(i.filler)) FROM orders o JOIN items i ON i.code = o.code GROUP BY 1 ORDER BY 1';
$rows{$wide} = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $wide");
hold('source', "SET pg_exchange.compression = none; SET work_mem = '64kB'; SET temp_file_limit = 0; $wide");
my @targets = split /\n/, $shards[1]->safe_psql('postgres', "SELECT pid FROM $ours AND application_name = 'pg_exchange' AND state = 'idle in transaction'");
kill 'STOP', @targets;
release('source');
$shards[0]->poll_query_until('postgres', "SELECT count(*) = 0 FROM $ours AND application_name = 'pg_exchange' AND state = 'active' AND wait_event IS DISTINCT FROM 'ClientWrite'");
kill 'CONT', @targets;
is(answer(), $rows{$wide}, 'a target stops for a while: the rows come');
is($background->{stderr}, '', 'a target stops for a while: there is no error');
goes_on('a target stops for a while');

# All rows of a side are for one target, first of the one and then of the other.
set_on_shards(q{work_mem = '64kB'});
foreach my $order ('<', '>')
{
	my $skewed = "SELECT count(*), sum(length(i.filler)), max(o.name) FROM orders o JOIN items i ON i.ord = o.id WHERE i.ord $order 5001";
	$rows{$skewed} = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $skewed");
	ask("SET pg_exchange.compression = none; SET pg_exchange.receive_buffer = '64kB'; SET pg_exchange.batch_rows_max = 1; SET work_mem = '64kB'; SET temp_file_limit = 0");
	is(ask($skewed), $rows{$skewed}, "skew, keys $order 5001: the rows come");
	is(way($skewed), 'moved', "skew, keys $order 5001: they are moved");
	is($session->{stderr}, '', "skew, keys $order 5001: there is no error");
}
set_on_shards();
goes_on('skew');

# ---- two at once ------------------------------------------------------------------

my $other = "SELECT i.qty, count(*), max(o.priority) FROM items i JOIN orders o ON o.id = i.code WHERE i.note <> 'x' GROUP BY 1 ORDER BY 1";
$rows{$other} = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $other");
my @sessions = map { open_session($coordinator) } 1, 2;
my @queries = ($one, $two, $other, $two, $one, $other);
my @expected = map { $rows{$_} } @queries;
foreach my $i (0, 1)
{
	my @turn = $i ? reverse @queries : @queries;
	$sessions[$i]->query("SET pg_exchange.receive_buffer = '64kB'; SET pg_exchange.batch_rows_max = 3; SET work_mem = '64kB'");
	$sessions[$i]->query_until(qr/asked/, join('', "\\echo asked\n", map { "$_;\n" } @turn));
}
foreach my $i (0, 1)
{
	my $rows = $sessions[$i]->query('\echo answered');
	is($rows, join("\n", $i ? reverse @expected : @expected) . "\nanswered", "two at once: the rows come, session $i");
	is($sessions[$i]->{stderr}, '', "two at once: there is no error, session $i");
	$sessions[$i]->quit;
}
goes_on('two at once');

$session->quit;
$_->quit for @gates;
$_->stop for $coordinator, @shards;
done_testing();
