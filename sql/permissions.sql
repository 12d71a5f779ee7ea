--
-- Who reads: SET ROLE, views, SECURITY DEFINER functions, row security there.
--
CREATE ROLE regress_px_reader LOGIN;
CREATE ROLE regress_px_owner LOGIN;
CREATE TABLE remote.secrets AS
	SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'regress_px_reader' ELSE 'regress_px_owner' END AS who
	FROM generate_series(1, 100) i;
ALTER TABLE remote.secrets ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON remote.secrets USING (who = current_user);
GRANT USAGE ON SCHEMA remote TO regress_px_reader, regress_px_owner;
GRANT SELECT ON remote.secrets TO regress_px_reader, regress_px_owner;

CREATE FOREIGN TABLE secrets (id int, who text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'secrets');
CREATE USER MAPPING FOR regress_px_reader SERVER loopback OPTIONS (user 'regress_px_reader', password_required 'false');
CREATE USER MAPPING FOR regress_px_owner SERVER loopback OPTIONS (user 'regress_px_owner', password_required 'false');
CREATE VIEW secrets_of_owner AS SELECT * FROM secrets;
ALTER VIEW secrets_of_owner OWNER TO regress_px_owner;
CREATE VIEW secrets_barrier WITH (security_barrier) AS SELECT * FROM secrets WHERE id < 50;
ALTER VIEW secrets_barrier OWNER TO regress_px_owner;
CREATE FUNCTION secrets_definer() RETURNS SETOF secrets LANGUAGE sql SECURITY DEFINER
	AS 'SELECT * FROM secrets WHERE id > 0 OFFSET 0';
ALTER FUNCTION secrets_definer() OWNER TO regress_px_owner;
CREATE FUNCTION leaky(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS
	$$BEGIN IF $1 >= 50 THEN RAISE 'leaked %', $1; END IF; RETURN true; END$$;
GRANT SELECT ON secrets TO regress_px_owner;
GRANT SELECT ON secrets_of_owner, secrets_barrier TO regress_px_reader;

-- the superuser there sees all, others their own rows
SELECT * FROM exchange_differences('SELECT * FROM secrets');
SET ROLE regress_px_reader;
SELECT who, count(*) FROM (SELECT * FROM secrets OFFSET 0) x GROUP BY who;
RESET ROLE;
GRANT SELECT ON secrets TO regress_px_reader;
SET ROLE regress_px_reader;
SELECT transport('SELECT * FROM secrets');
SELECT who, count(*) FROM (SELECT * FROM secrets OFFSET 0) x GROUP BY who;
-- views and functions connect as their owner, within the same query
SELECT transport('SELECT * FROM secrets_of_owner');
SELECT who, count(*) FROM (SELECT * FROM secrets_of_owner OFFSET 0) x GROUP BY who;
SELECT who, count(*) FROM secrets_definer() GROUP BY who;
SELECT a.who AS owner, b.who AS reader, count(*)
	FROM (SELECT * FROM secrets_of_owner OFFSET 0) a, (SELECT * FROM secrets OFFSET 0) b GROUP BY 1, 2;
-- a barrier stays one: what leaks is not sent there, nor run before the barrier
SELECT count(*), max(id) FROM secrets_barrier WHERE leaky(id);
RESET ROLE;

-- prepared by one, executed by another
PREPARE all_secrets AS SELECT who, count(*) FROM (SELECT * FROM secrets OFFSET 0) x GROUP BY who ORDER BY who;
EXECUTE all_secrets;
SET ROLE regress_px_owner;
EXECUTE all_secrets;
RESET ROLE;
EXECUTE all_secrets;
DEALLOCATE all_secrets;

-- privileges of columns, there
REVOKE SELECT ON remote.secrets FROM regress_px_reader;
GRANT SELECT (id) ON remote.secrets TO regress_px_reader;
SET ROLE regress_px_reader;
SELECT count(id) FROM (SELECT id FROM secrets OFFSET 0) x;
SELECT count(who) FROM (SELECT who FROM secrets OFFSET 0) x;
RESET ROLE;

DROP FUNCTION secrets_definer();
DROP FUNCTION leaky(int);
DROP VIEW secrets_of_owner, secrets_barrier;
DROP FOREIGN TABLE secrets;
DROP TABLE remote.secrets;
DROP USER MAPPING FOR regress_px_reader SERVER loopback;
DROP USER MAPPING FOR regress_px_owner SERVER loopback;
REVOKE USAGE ON SCHEMA remote FROM regress_px_reader, regress_px_owner;
DROP ROLE regress_px_reader, regress_px_owner;
