--
-- Parameters: nested loops that ask anew for each outer row.
--
CREATE TABLE local_ids AS SELECT i AS id FROM generate_series(1, 20) i;
ANALYZE local_ids;

-- a nested loop that asks for each outer row
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
ALTER SERVER loopback OPTIONS (ADD use_remote_estimate 'true');
CREATE UNIQUE INDEX ON remote.numbers (id);
ANALYZE remote.numbers;
SELECT explain_stable('SELECT * FROM local_ids l JOIN LATERAL (SELECT * FROM numbers n WHERE n.id = l.id OFFSET 0) n ON true',
	'VERBOSE, COSTS OFF');
SELECT count(*), sum(n.digit), max(n.name) FROM local_ids l JOIN LATERAL (SELECT * FROM numbers n WHERE n.id = l.id OFFSET 0) n ON true;
SELECT * FROM exchange_differences('SELECT l.id, n.* FROM local_ids l LEFT JOIN LATERAL
	(SELECT * FROM numbers n WHERE n.id > l.id ORDER BY n.id LIMIT 3) n ON true');
SELECT count(*) FROM local_ids l, numbers n WHERE n.id % 1000 = l.id;
ALTER SERVER loopback OPTIONS (DROP use_remote_estimate);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;


-- types and nulls of parameters
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT * FROM exchange_differences('SELECT v.i, x.c FROM (VALUES (1, NULL::text, date ''2000-01-05'', 1.50), (2, ''text 7'', NULL, NULL)) v(i, t, d, n)
	LEFT JOIN LATERAL (SELECT count(*) AS c FROM types WHERE c_text = v.t OR c_date = v.d OR c_numeric_15_2 = v.n OFFSET 0) x ON true');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
