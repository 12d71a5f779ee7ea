-- The coordinator of scripts/check_matrix.py; :port is the shard's.
SET client_min_messages = warning;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION pg_exchange;
CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '127.0.0.1', port :'port', dbname 'postgres', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'postgres');
CREATE TYPE mood AS ENUM ('happy', 'sad', 'ok');
IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public;
ANALYZE orders;
ANALYZE customers;
CREATE TABLE local AS SELECT i AS id, 'local ' || i AS name FROM generate_series(0, 99) i;
ANALYZE local;
SET jit = off;
