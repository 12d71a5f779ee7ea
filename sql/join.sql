--
-- Joins that postgres_fdw pushes down.
--
CREATE TABLE remote.digits AS
	SELECT i AS digit, 'digit ' || i AS label, CASE WHEN i % 2 = 0 THEN i END AS even FROM generate_series(0, 11) i;
CREATE FOREIGN TABLE digits (digit int, label text, even int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'digits');
ANALYZE digits;

-- inner, outer, full, semi and anti joins
SELECT explain_stable('SELECT n.id, d.label FROM numbers n JOIN digits d USING (digit) WHERE n.id < 5000', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT n.id, d.label FROM numbers n JOIN digits d USING (digit) WHERE n.id < 5000');
SELECT * FROM exchange_differences('SELECT n.id, d.label FROM digits d LEFT JOIN numbers n ON n.digit = d.digit AND n.id < 100');
SELECT * FROM exchange_differences('SELECT n.id, d.label FROM (SELECT * FROM numbers WHERE id < 1000) n FULL JOIN digits d ON n.digit = d.even');
SELECT * FROM exchange_differences('SELECT * FROM digits d WHERE EXISTS (SELECT 1 FROM numbers n WHERE n.digit = d.digit)');
SELECT * FROM exchange_differences('SELECT * FROM digits d WHERE NOT EXISTS (SELECT 1 FROM numbers n WHERE n.digit = d.digit)');
-- a condition on no table, which is checked here and once
SELECT * FROM exchange_differences('SELECT n.id, d.label FROM numbers n JOIN digits d ON n.digit = d.digit AND current_user <> session_user WHERE n.id < 100');
SELECT * FROM exchange_differences('SELECT n.id, d.label FROM numbers n JOIN digits d ON n.digit = d.digit AND current_user = session_user WHERE n.id < 100');

-- whole rows, of joined tables and null-extended; system columns
SELECT * FROM exchange_differences('SELECT n, d FROM numbers n JOIN digits d USING (digit) WHERE n.id < 100');
SELECT * FROM exchange_differences('SELECT d, n, n.id FROM digits d LEFT JOIN numbers n ON n.id = d.digit * 2000');
SELECT * FROM exchange_differences('SELECT n.tableoid::regclass, d.tableoid::regclass, n.id FROM numbers n JOIN digits d USING (digit)');
SELECT * FROM exchange_differences('SELECT n.ctid, d.ctid, n.id FROM numbers n JOIN digits d USING (digit)');
-- no columns
SELECT * FROM exchange_differences('SELECT 1 FROM numbers n JOIN digits d USING (digit)');
