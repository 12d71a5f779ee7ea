-- What scripts/check_mirrored.py needs in the database where the statements run.
--
-- mirror.run runs a command that defines something there, here or in both databases, and then makes foreign tables of all tables
-- there are. What the server loopback is, and mirror.here, the caller has set: if it is on, partitioned tables, inheritance, views,
-- triggers and rules are here, and only plain tables and leaf partitions there.
CREATE SCHEMA mirror;
GRANT USAGE ON SCHEMA mirror TO PUBLIC;
CREATE FOREIGN TABLE mirror.command (path text, command text) SERVER loopback;
CREATE FOREIGN TABLE mirror.relations (schema text, name text, kind text, columns text, key text, bound text, parents text, depth int)
    SERVER loopback;
GRANT ALL ON mirror.command, mirror.relations TO PUBLIC;
-- What each foreign table was made of
CREATE TABLE mirror.made (schema text, name text, description text, PRIMARY KEY (schema, name));

CREATE FUNCTION mirror.try(command text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;

-- Users may log in over there, with the same names.
CREATE FUNCTION mirror.roles() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE role name;
BEGIN
    FOR role IN SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname NOT IN
        (SELECT usename FROM pg_user_mappings WHERE srvname = 'loopback' AND usename IS NOT NULL)
    LOOP
        EXECUTE format('ALTER ROLE %I LOGIN', role);
        EXECUTE format('CREATE USER MAPPING FOR %I SERVER loopback OPTIONS (user %L, password_required ''false'')', role, role);
    END LOOP;
END $$;

CREATE FUNCTION mirror.drop_relation(r record) RETURNS void LANGUAGE plpgsql AS $$
DECLARE kind "char";
BEGIN
    SELECT relkind INTO kind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = r.schema AND relname = r.name;
    IF FOUND THEN
        EXECUTE format('DROP %s %I.%I CASCADE', CASE kind WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
            WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, r.schema, r.name);
    END IF;
    DELETE FROM mirror.made m WHERE m.schema = r.schema AND m.name = r.name;
END $$;

CREATE FUNCTION mirror.is_partition(relation text) RETURNS bool LANGUAGE sql AS $$
    SELECT coalesce((SELECT relispartition OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid) FROM pg_class c WHERE oid = to_regclass(relation)), false)
$$;

-- Make a foreign table (or, if it is here, a partitioned table) of what a row of mirror.relations says.
CREATE FUNCTION mirror.make(r record, here bool) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    whole text := format('%I.%I', r.schema, r.name);
    plain text := regexp_replace(r.columns, ' DEFAULT nextval\([^)]*\)', '', 'g');
    columns text;
BEGIN
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', r.schema);
    EXECUTE format('GRANT ALL ON SCHEMA %I TO PUBLIC', r.schema);
    IF r.kind = 'S' THEN
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS %s; GRANT ALL ON %s TO PUBLIC', whole, whole);
        RETURN;
    END IF;
    FOREACH columns IN ARRAY ARRAY[coalesce(r.columns, ''), coalesce(plain, '')] LOOP
        EXIT WHEN here AND r.kind = 'p' AND mirror.try(format('CREATE TABLE %s (%s) PARTITION BY %s', whole, columns, r.key))
            OR mirror.try(format('CREATE FOREIGN TABLE %s (%s) SERVER loopback OPTIONS (schema_name %L, table_name %L)', whole, columns, r.schema, r.name));
    END LOOP;
    PERFORM mirror.try(format('GRANT ALL ON %s TO PUBLIC', whole));
END $$;

-- Make what is here as it is there.
CREATE FUNCTION mirror.follow(relations jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
SET client_min_messages = warning AS $$
DECLARE
    r record;
    here bool := current_setting('mirror.here', true) = 'on';
BEGIN
    CREATE TEMP TABLE IF NOT EXISTS wanted (schema text, name text, kind text, columns text, key text, bound text, parents text, depth int);
    TRUNCATE pg_temp.wanted;
    INSERT INTO pg_temp.wanted SELECT * FROM jsonb_populate_recordset(NULL::pg_temp.wanted, relations) WHERE NOT (here AND kind = 'v');
    FOR r IN SELECT m.* FROM mirror.made m WHERE NOT EXISTS (SELECT FROM pg_temp.wanted w
        WHERE w.schema = m.schema AND w.name = m.name AND w.columns IS NOT DISTINCT FROM m.description) LOOP
        PERFORM mirror.drop_relation(r);
    END LOOP;
    FOR r IN SELECT * FROM pg_temp.wanted ORDER BY kind = 'S' DESC, depth, name LOOP
        IF to_regclass(format('%I.%I', r.schema, r.name)) IS NULL THEN
            DELETE FROM mirror.made m WHERE m.schema = r.schema AND m.name = r.name;
            PERFORM mirror.make(r, here);
        END IF;
        INSERT INTO mirror.made VALUES (r.schema, r.name, r.columns) ON CONFLICT DO NOTHING;
        IF here AND r.parents IS NOT NULL AND NOT mirror.is_partition(format('%I.%I', r.schema, r.name)) THEN
            IF r.bound IS NOT NULL THEN
                PERFORM mirror.try(format('ALTER TABLE %s ATTACH PARTITION %I.%I %s', r.parents, r.schema, r.name, r.bound));
            ELSE
                PERFORM mirror.try(format('ALTER FOREIGN TABLE %I.%I INHERIT %s', r.schema, r.name, split_part(r.parents, ', ', 1)));
            END IF;
        ELSIF here AND r.parents IS NULL AND mirror.is_partition(format('%I.%I', r.schema, r.name)) THEN
            PERFORM mirror.drop_relation(r);
            PERFORM mirror.make(r, here);
            INSERT INTO mirror.made VALUES (r.schema, r.name, r.columns) ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
END $$;

-- how: 'there', 'both', 'here' (there only if it cannot be here), 'role'
CREATE FUNCTION mirror.run(how text, command text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    path text := current_setting('search_path');
    relations jsonb;
    ignored int;
BEGIN
    IF how = 'role' THEN
        EXECUTE command;
        PERFORM mirror.roles();
        RETURN;
    END IF;
    IF how = 'here' AND current_setting('mirror.here', true) = 'on' AND mirror.try(command) THEN
        RETURN;
    END IF;
    IF how = 'both' THEN
        PERFORM mirror.try(command);
    END IF;
    -- RETURNING: this insert itself never goes as a frame
    INSERT INTO mirror.command VALUES (path, command) RETURNING 1 INTO ignored;
    SELECT jsonb_agg(to_jsonb(r)) INTO relations FROM mirror.relations r;
    PERFORM mirror.follow(coalesce(relations, '[]'));
END $$;
SELECT mirror.roles();
