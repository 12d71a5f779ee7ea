--
-- Values out of line, compressed, and larger than a batch.
--
CREATE TABLE remote.toasted (id int, plain text, main text, external text, extended text, bytes bytea, j jsonb, a text[]);
ALTER TABLE remote.toasted ALTER main SET STORAGE MAIN, ALTER external SET STORAGE EXTERNAL;
INSERT INTO remote.toasted
	SELECT i, repeat('p', 100 * i), repeat('main', 500 * i), repeat(md5(i::text), 200 * i), repeat('extended ', 5000 * i),
		decode(repeat(md5(i::text), 300 * i), 'hex'), jsonb_build_object('k', repeat('json', 3000 * i)),
		ARRAY[repeat('x', 10000 * i), NULL, '']
	FROM generate_series(1, 20) i;
CREATE FOREIGN TABLE toasted (id int, plain text, main text, external text, extended text, bytes bytea, j jsonb, a text[])
	SERVER loopback OPTIONS (schema_name 'remote');
SELECT * FROM exchange_differences('SELECT * FROM toasted');
SELECT * FROM exchange_differences('SELECT id, length(extended), substr(external, 100, 10) FROM toasted ORDER BY id');
-- each row passes the size of a batch by itself
SET pg_exchange.batch_bytes_max = 1024;
SET pg_exchange.receive_buffer = '64kB';
SELECT * FROM exchange_differences('SELECT * FROM toasted WHERE id > 15');
-- one value of 40 MB, more than receive_buffer
INSERT INTO remote.toasted (id, plain, bytes) VALUES (100, repeat('forty million', 3076923), NULL);
SELECT length(plain), md5(plain) = md5(repeat('forty million', 3076923)) AS same FROM (SELECT plain FROM toasted WHERE id = 100 OFFSET 0) x;
SELECT transport('SELECT plain FROM toasted WHERE id = 100');
RESET pg_exchange.receive_buffer;
RESET pg_exchange.batch_bytes_max;
