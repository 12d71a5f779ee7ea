-- What scripts/check_mirrored.py needs in the database where the tables are.
--
-- A row that is inserted into mirror.command is run as a command, by the user and in the transaction of whoever inserts it. The
-- search path is that of the coordinator's session. mirror.relations describes tables, so that the same foreign tables can be made.
CREATE SCHEMA mirror;
GRANT USAGE ON SCHEMA mirror TO PUBLIC;

CREATE VIEW mirror.command AS SELECT ''::text AS path, ''::text AS command;
GRANT ALL ON mirror.command TO PUBLIC;

CREATE FUNCTION mirror.command() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text := current_setting('search_path');
    routine oid;
BEGIN
    PERFORM set_config('search_path', NEW.path, true);
    EXECUTE NEW.command;
    -- postgres_fdw's search path is pg_catalog: functions that tables call need their own.
    IF NEW.command ~* '^\s*create\s+(or\s+replace\s+)?(function|procedure)' THEN
        FOR routine IN SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = prolang
            WHERE proconfig IS NULL AND lanname IN ('plpgsql', 'sql') AND prokind IN ('f', 'p')
            AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'mirror'::regnamespace, 'information_schema'::regnamespace)
            AND pg_has_role(proowner, 'USAGE')
        LOOP
            EXECUTE format('ALTER ROUTINE %s SET search_path = %s', routine::regprocedure, NEW.path);
        END LOOP;
    END IF;
    PERFORM set_config('search_path', before, true);
    RETURN NEW;
END $$;
CREATE TRIGGER command INSTEAD OF INSERT ON mirror.command FOR EACH ROW EXECUTE FUNCTION mirror.command();

CREATE VIEW mirror.relations AS
SELECT n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind,
    (SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod) ||
                       CASE WHEN attcollation <> typcollation AND attcollation <> 0
                           THEN ' COLLATE ' || attcollation::regcollation ELSE '' END ||
                       CASE WHEN attidentity = 'a' THEN format(' GENERATED ALWAYS AS (NULL::%s) STORED', format_type(atttypid, atttypmod))
                           WHEN attidentity = 'd' THEN format(' DEFAULT nextval(%L::regclass)', pg_get_serial_sequence(c.oid::regclass::text, attname))
                           WHEN attgenerated <> '' THEN format(' GENERATED ALWAYS AS (%s) STORED', pg_get_expr(adbin, adrelid))
                           WHEN atthasdef THEN ' DEFAULT ' || pg_get_expr(adbin, adrelid) ELSE '' END, ', ' ORDER BY attnum)
        FROM pg_attribute JOIN pg_type t ON t.oid = atttypid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END AS key,
    CASE WHEN c.relispartition THEN pg_get_expr(c.relpartbound, c.oid) END AS bound,
    (SELECT string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno) FROM pg_inherits WHERE inhrelid = c.oid) AS parents,
    (WITH RECURSIVE up AS (SELECT c.oid AS rel, 0 AS depth
        UNION ALL SELECT inhparent, depth + 1 FROM up JOIN pg_inherits ON inhrelid = rel) SELECT max(depth) FROM up) AS depth
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'mirror') AND n.nspname !~ '^pg_toast';
GRANT SELECT ON mirror.relations TO PUBLIC;
