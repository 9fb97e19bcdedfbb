--- both
INSERT INTO orders VALUES (9, 1, '2024-01-01', 'paid', 1)
INSERT INTO orders SELECT * FROM orders
INSERT INTO orders (id) VALUES (10) RETURNING id
UPDATE orders SET total = 0
UPDATE customer SET name = 'x' WHERE id = 1 RETURNING name
DELETE FROM orders
DELETE FROM orders WHERE id IN (SELECT id FROM orders) RETURNING id
DROP TABLE orders
DROP VIEW order_summary
DROP INDEX IF EXISTS nothing
CREATE TABLE evil (id INTEGER)
CREATE TABLE evil AS SELECT * FROM orders
CREATE TEMP TABLE evil AS SELECT 1 AS a
CREATE VIEW evil AS SELECT * FROM orders
CREATE INDEX evil ON orders (total)
ALTER TABLE orders ADD COLUMN evil TEXT
ALTER TABLE orders RENAME TO evil
ALTER TABLE customer DROP COLUMN name
BEGIN
COMMIT
ROLLBACK
SAVEPOINT a
EXPLAIN SELECT id FROM orders
ANALYZE
VACUUM
REINDEX
VALUES (1), (2)

;
-- nothing but a comment
/* SELECT id FROM orders */
SELECT
SELEC id FROM orders
SELECT id FROM orders; DROP TABLE orders
SELECT id FROM orders; SELECT id FROM customer
SELECT id FROM orders;; DELETE FROM orders
; SELECT id FROM orders; DELETE FROM orders
SELECT id FROM orders; --\nDELETE FROM orders
SELECT id FROM orders /* ; */ ; DELETE FROM orders
SELECT id FROM orders --\n; DROP TABLE orders
SELECT ';' ; DROP TABLE orders
SELECT id FROM orders WHERE status = 'a'';'; DROP TABLE orders; --'
/*!50000 DROP TABLE orders */
SELECT /*!50000 1; DROP TABLE orders; */ id FROM orders
SELECT /*+ parallel(8) */ id FROM orders
WITH t AS (SELECT 1 AS a) INSERT INTO orders (id) SELECT a FROM t
WITH t AS (SELECT 1 AS a) DELETE FROM orders WHERE id IN (SELECT a FROM t)
WITH t AS (SELECT 1 AS a) UPDATE orders SET total = 0 WHERE id IN (SELECT a FROM t)
SELECT * FROM customer
SELECT c.* FROM customer c
SELECT customer.* FROM customer
SELECT o.*, c.* FROM orders o JOIN customer c ON c.id = o.customer_id
SELECT * FROM orders o JOIN customer c ON c.id = o.customer_id
SELECT * FROM orders, customer
SELECT * FROM orders NATURAL JOIN customer
SELECT name FROM (SELECT * FROM customer) t
SELECT t.* FROM (SELECT c.* FROM customer c) t
WITH t AS (SELECT * FROM customer) SELECT name FROM t
WITH t AS (SELECT * FROM customer), u AS (SELECT * FROM t) SELECT * FROM u
WITH t (a, b, d, e, f, g) AS (SELECT * FROM customer) SELECT d FROM t
SELECT t.d FROM (SELECT 1 AS a, 2 AS b, 3 AS d, 4, 5, 6 UNION ALL SELECT * FROM customer) t
SELECT * FROM customer LIMIT 1
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM (SELECT * FROM customer) q)
SELECT count(*) FROM (SELECT * FROM customer) t
SELECT EXISTS (SELECT * FROM customer)
SELECT * FROM credential
SELECT id FROM credential
SELECT count(*) FROM credential
SELECT o.id FROM orders o JOIN credential k ON k.customer_id = o.customer_id
SELECT id FROM orders WHERE customer_id IN (SELECT customer_id FROM credential)
SELECT id FROM orders UNION SELECT id FROM credential
WITH t AS (SELECT password_hash AS p FROM credential) SELECT p FROM t
SELECT "id" FROM "credential"
SELECT k."password_hash" FROM credential AS k
SELECT id FROM CREDENTIAL
SELECT * FROM employee
SELECT salary FROM employee
SELECT name FROM employee WHERE salary > 70
SELECT name FROM employee ORDER BY salary DESC
SELECT avg(salary) FROM employee
SELECT manager_id, sum(salary) FROM employee GROUP BY manager_id
SELECT manager_id FROM employee GROUP BY manager_id HAVING max(salary) > 1
SELECT name, rank() OVER (ORDER BY salary) FROM employee
SELECT name, lag(name) OVER (PARTITION BY salary ORDER BY id) FROM employee
SELECT e.name FROM employee e JOIN employee m ON m.salary > e.salary
SELECT name FROM employee e WHERE EXISTS (SELECT 1 FROM employee m WHERE m.salary > e.salary)
SELECT name AS salary FROM employee ORDER BY salary
SELECT name AS salary FROM employee GROUP BY salary
SELECT reach FROM customer_contact
SELECT * FROM customer_contact
SELECT id FROM customer_contact WHERE reach LIKE 'a%'
SELECT domain FROM contact_domain
SELECT * FROM contact_domain
SELECT count(DISTINCT domain) FROM contact_domain
SELECT h FROM hashes
SELECT * FROM hashes
SELECT name FROM hashes ORDER BY h
SELECT x.reach FROM (SELECT reach FROM customer_contact) x
WITH v AS (SELECT * FROM contact_domain) SELECT id FROM v
SELECT id FROM nothing
SELECT nothing FROM orders
SELECT o.nothing FROM orders o
SELECT x.id FROM orders o
SELECT id FROM other.orders
SELECT id FROM a.b.orders
SELECT orders.id FROM orders o
WITH orders AS (SELECT id FROM customer) SELECT id FROM orders
WITH credential AS (SELECT id FROM customer) SELECT id FROM credential
WITH pg_shadow AS (SELECT * FROM pg_shadow) SELECT * FROM pg_shadow
WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT * FROM sqlite_master
SELECT * FROM (WITH k AS (SELECT 1 AS a) SELECT a FROM k) q, k
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 5
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT n + 1 FROM t) SELECT count(*) FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t WHERE n < 10) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n - 1 FROM t WHERE n < 10) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 0 FROM t WHERE n < 10) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10 OR 1 = 1) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 999999999999) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < (SELECT 10)) SELECT n FROM t
WITH RECURSIVE t(n, m) AS (SELECT 1, 1 UNION ALL SELECT n + 1, m FROM t WHERE m < 10) SELECT n FROM t
WITH RECURSIVE t(id) AS (SELECT id FROM employee UNION ALL SELECT e.id FROM employee e JOIN t ON e.manager_id = t.id) SELECT id FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT a.n + 1 FROM t a, t b WHERE a.n < 10) SELECT n FROM t
SELECT id FROM (WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n AS id FROM t) q
SELECT id FROM orders WHERE id = ?
SELECT id FROM orders WHERE id = :id
SELECT id FROM orders WHERE id = @id
SELECT id FROM orders FOR UPDATE
SELECT id FROM orders FOR SHARE
SELECT id INTO evil FROM orders
SELECT id FROM orders INTO OUTFILE '/tmp/evil'
SELECT load_extension('evil')
SELECT nothing_known(id) FROM orders
SELECT main.lower(name) FROM product
SELECT "pg_read_file"('x')
SELECT current_user
SELECT session_user
GRANT ALL ON orders TO PUBLIC
REVOKE ALL ON orders FROM PUBLIC
SELECT emаil FROM customer
SELECT e​mail FROM customer
SELECT ｅmail FROM customer
SELECT "email" FROM customer
SELECT [email] FROM customer
SELECT `email` FROM customer
SELECT customer."email" FROM customer
SELECT eMaIl FROM customer
SELECT id FROM orders WHERE id = (DELETE FROM orders RETURNING id)
SELECT repeat('x', 1000000000)
MERGE INTO orders USING product ON 1 = 1 WHEN MATCHED THEN DELETE
TRUNCATE TABLE orders
CALL evil()
SELECT d FROM customer AS c(a,b,d,e,f,g)
SELECT c.d FROM customer c (a,b,d,e,f,g)
SELECT x.d FROM (SELECT * FROM customer) AS x(a,b,d,e,f,g)
SELECT t.c FROM (TABLE customer) t(a,b,c,d,e,f)
SELECT x.* FROM customer c, LATERAL (SELECT c.*) x
SELECT (SELECT email) FROM customer
SELECT (SELECT c.email) FROM customer c
SELECT id FROM orders WHERE EXISTS (SELECT email)
SELECT DISTINCT ON (email) name FROM customer
SELECT id FROM orders WHERE 'x1' IN credential
SELECT id FROM orders WHERE 'x1' IN (credential)
SELECT count(*) FILTER (WHERE email LIKE 'a%') FROM customer
SELECT string_agg(name, ',' ORDER BY email) FROM customer
SELECT mode() WITHIN GROUP (ORDER BY email) FROM customer
SELECT count(*) FROM customer GROUP BY ROLLUP (email)
SELECT count(*) FROM customer GROUP BY GROUPING SETS ((email), ())
SELECT count(*) FROM customer GROUP BY CUBE (email)
SELECT id FROM orders LIMIT (SELECT count(*) FROM credential)
SELECT id FROM orders LIMIT 1 OFFSET (SELECT length(email) FROM customer LIMIT 1)
SELECT id FROM orders OFFSET (SELECT count(*) FROM credential)
SELECT * FROM (VALUES ((SELECT email FROM customer LIMIT 1))) v(x)
VALUES ((SELECT email FROM customer LIMIT 1))
SELECT name FROM customer WINDOW w AS (ORDER BY email)
SELECT row_number() OVER w FROM customer WINDOW w AS (PARTITION BY phone)
SELECT CASE WHEN EXISTS (SELECT 1 FROM credential) THEN 1 END
SELECT array(SELECT email FROM customer)
SELECT unnest(array(SELECT email FROM customer))
SELECT id FROM orders WHERE (id, 'a') IN (SELECT id, email FROM customer)
SELECT id FROM orders WHERE ROW(id, 'a') = (SELECT id, email FROM customer LIMIT 1)
WITH t AS MATERIALIZED (SELECT email FROM customer) SELECT 1 FROM t
WITH c AS (SELECT 1 AS email) SELECT email FROM c, customer
WITH c AS (SELECT id AS email FROM orders) SELECT customer.email FROM c, customer
SELECT email FROM customer, (SELECT 1 AS email) x
SELECT "customer"."email" FROM orders AS customer, customer AS orders
SELECT customer.id, customer.email FROM orders AS customer
SELECT orders.email FROM customer AS orders
SELECT o.id FROM orders o WHERE o.id = (SELECT max(id) FROM customer WHERE email > o.status)
SELECT max(name) KEEP (DENSE_RANK FIRST ORDER BY email) FROM customer
SELECT name FROM customer QUALIFY row_number() OVER (ORDER BY email) = 1
SELECT name, email::text FROM customer
SELECT CAST(email AS bytea) FROM customer
SELECT email COLLATE "C" FROM customer
SELECT email IS NULL FROM customer
SELECT email AT TIME ZONE 'UTC' FROM customer
SELECT extract(year FROM email) FROM customer
SELECT position('a' IN email) FROM customer
SELECT substring(email FROM 1 FOR 2) FROM customer
SELECT overlay(email placing 'a' from 1) FROM customer
SELECT trim(both 'a' from email) FROM customer
SELECT email || name FROM customer
SELECT -email FROM customer
SELECT name FROM customer WHERE email BETWEEN 'a' AND 'b'
SELECT name FROM customer WHERE 'a' BETWEEN email AND 'b'
SELECT name FROM customer WHERE email IN ('a')
SELECT name FROM customer WHERE email ~ 'a'
SELECT name FROM customer WHERE email SIMILAR TO 'a'
SELECT name FROM customer WHERE email LIKE 'a' ESCAPE 'x'
SELECT name FROM customer WHERE name LIKE email
SELECT name FROM customer WHERE email IS DISTINCT FROM name
SELECT name FROM customer ORDER BY email COLLATE nocase
SELECT name FROM customer ORDER BY 1, email NULLS LAST
SELECT email.name FROM customer AS email
SELECT email FROM customer AS email
SELECT c.name FROM customer c JOIN LATERAL (SELECT email) y ON true
SELECT y.v FROM customer c JOIN LATERAL (SELECT c.email AS v) y ON true
SELECT y.v FROM customer c CROSS JOIN LATERAL (VALUES (c.email)) AS y(v)
SELECT v FROM customer c, unnest(ARRAY[c.email]) AS v
SELECT reach AS r FROM customer_contact UNION SELECT name FROM customer
SELECT name FROM customer_contact GROUP BY name, reach
SELECT sum(x) FROM (SELECT length(reach) AS x FROM customer_contact) q
SELECT id FROM orders UNION (SELECT id FROM credential)
(SELECT email FROM customer)
((SELECT id FROM orders)) UNION ALL SELECT length(email) FROM customer
SELECT id FROM orders WHERE id = ALL (SELECT length(email) FROM customer)
SELECT id FROM orders FETCH FIRST (SELECT count(*) FROM credential) ROWS ONLY
SELECT pg_catalog.pg_read_file('x')
SELECT "lower"(email) FROM customer
SELECT lower (name), "pg_sleep" (1) FROM customer
SELECT id FROM ONLY orders, ONLY credential
SELECT o FROM (SELECT email AS o FROM customer) o
SELECT id, email FROM customer FOR UPDATE OF customer
SELECT 1 WHERE (SELECT true FROM credential LIMIT 1)
SELECT $1
SELECT :x
SELECT @x
SELECT * FROM orders, LATERAL (SELECT * FROM customer) q
SELECT id FROM sqlite_master
SELECT id FROM "sqlite_master"
SELECT id FROM main."credential"
SELECT id FROM public."credential"
--- sqlite
PRAGMA writable_schema = 1
PRAGMA table_info(customer)
PRAGMA journal_mode = DELETE
ATTACH DATABASE '/tmp/evil.db' AS evil
DETACH DATABASE evil
VACUUM INTO '/tmp/evil.db'
REPLACE INTO orders (id) VALUES (1)
INSERT OR REPLACE INTO orders (id) VALUES (1)
EXPLAIN QUERY PLAN SELECT id FROM orders
SELECT * FROM sqlite_master
SELECT sql FROM sqlite_schema
SELECT name FROM main.sqlite_master
SELECT * FROM sqlite_temp_master
SELECT * FROM pragma_table_info('customer')
SELECT * FROM pragma_database_list
SELECT readfile('/etc/passwd')
SELECT writefile('/tmp/evil', 'x')
SELECT edit('x')
SELECT fts3_tokenizer('x')
SELECT randomblob(1000000000)
SELECT zeroblob(1000000000)
SELECT printf('%1000000000d', 1)
SELECT format('%1000000000d', 1)
SELECT sqlite_version()
SELECT sqlite_source_id()
SELECT last_insert_rowid()
SELECT changes()
SELECT sqlite_compileoption_get(1)
SELECT rowid FROM customer
SELECT oid, _rowid_ FROM orders
SELECT * FROM json_each('[1]')
SELECT * FROM generate_series(1, 1000000000)
SELECT id FROM temp.orders
SELECT id FROM orders WHERE "nothing" = 'x'
SELECT Email FROM Customer
SELECT LOAD_EXTENSION('evil', 'entry') FROM orders
--- postgresql
COPY orders TO '/tmp/evil'
COPY orders FROM '/tmp/evil'
COPY (SELECT * FROM orders) TO PROGRAM 'cat'
COPY orders TO STDOUT
DO $$ BEGIN DROP TABLE orders; END $$
SET ROLE postgres
SET SESSION AUTHORIZATION postgres
SET transaction_read_only = off
RESET ALL
SHOW data_directory
LOAD 'evil'
LISTEN a
NOTIFY a
LOCK TABLE orders
DISCARD ALL
CHECKPOINT
PREPARE a AS SELECT 1
EXECUTE a
DEALLOCATE a
DECLARE a CURSOR FOR SELECT 1
FETCH ALL FROM a
CREATE FUNCTION evil() RETURNS int AS 'SELECT 1' LANGUAGE sql
CREATE EXTENSION dblink
CREATE ROLE evil SUPERUSER
ALTER SYSTEM SET fsync = off
REFRESH MATERIALIZED VIEW evil
EXPLAIN ANALYZE DELETE FROM orders
WITH t AS (DELETE FROM orders RETURNING id) SELECT id FROM t
WITH t AS (INSERT INTO orders (id) VALUES (99) RETURNING id) SELECT id FROM t
WITH t AS (UPDATE orders SET total = 0 RETURNING id) SELECT count(*) FROM t
WITH a AS (SELECT 1 AS x), t AS (DELETE FROM orders RETURNING id) SELECT x FROM a
SELECT id FROM (WITH t AS (DELETE FROM orders RETURNING id) SELECT id FROM t) q
SELECT * INTO evil FROM orders
SELECT id INTO TEMP evil FROM orders
SELECT id FROM orders FOR NO KEY UPDATE
SELECT id FROM orders FOR KEY SHARE SKIP LOCKED
SELECT id FROM (SELECT id FROM orders FOR UPDATE) q
SELECT pg_read_file('/etc/passwd')
SELECT pg_read_binary_file('/etc/passwd')
SELECT pg_ls_dir('.')
SELECT pg_stat_file('x')
SELECT pg_sleep(1)
SELECT pg_catalog.pg_sleep(1)
SELECT PG_SLEEP(1)
SELECT U&"pg\005Fsleep"(1)
SELECT pg_terminate_backend(1)
SELECT pg_cancel_backend(1)
SELECT pg_reload_conf()
SELECT pg_switch_wal()
SELECT pg_advisory_lock(1)
SELECT pg_try_advisory_lock(1)
SELECT pg_notify('a', 'b')
SELECT lo_import('/etc/passwd')
SELECT lo_export(1, '/tmp/evil')
SELECT lo_create(1)
SELECT lo_from_bytea(0, 'x')
SELECT dblink('x', 'SELECT 1')
SELECT dblink_exec('x', 'DROP TABLE orders')
SELECT query_to_xml('SELECT * FROM credential', true, true, '')
SELECT table_to_xml('credential', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT schema_to_xml('public', true, true, '')
SELECT cursor_to_xml('a', 1, true, true, '')
SELECT set_config('transaction_read_only', 'off', false)
SELECT current_setting('data_directory')
SELECT inet_server_addr()
SELECT version()
SELECT current_database()
SELECT current_schemas(true)
SELECT user
SELECT nextval('a')
SELECT setval('a', 1)
SELECT txid_current()
SELECT pg_relation_filepath('orders')
SELECT pg_get_viewdef('hashes')
SELECT has_table_privilege('orders', 'select')
SELECT ts_stat('SELECT password_hash FROM credential')
SELECT crosstab('SELECT 1')
SELECT to_json(c) FROM customer c
SELECT row_to_json(c) FROM customer c
SELECT json_agg(c) FROM customer c
SELECT c FROM customer c
SELECT customer FROM customer
SELECT (c).email FROM customer c
SELECT (c.*)::text FROM customer c
SELECT row(c.*) FROM customer c
SELECT count(c.*) FROM customer c
SELECT c::text FROM customer c
SELECT email(c) FROM customer c
SELECT email(customer) FROM customer
SELECT (SELECT c).email FROM customer c
SELECT c IS NULL FROM customer c
SELECT id FROM customer c ORDER BY c
SELECT array_agg(c) FROM customer c
SELECT to_jsonb(c.*) FROM customer c
SELECT (array_agg(c))[1].email FROM customer c
SELECT U&"\0065mail" FROM customer
SELECT U&"e!006dail" UESCAPE '!' FROM customer
SELECT "email" FROM "customer"
SELECT ctid FROM orders
SELECT xmin FROM orders
SELECT tableoid::regclass FROM orders
SELECT 'credential'::regclass
SELECT 'pg_authid'::regclass::oid
SELECT * FROM pg_catalog.pg_user
SELECT * FROM pg_shadow
SELECT rolname FROM pg_roles
SELECT table_name FROM information_schema.tables
SELECT * FROM pg_stat_activity
SELECT * FROM pg_settings
SELECT * FROM pg_ls_dir('.')
SELECT * FROM pg_read_file('x') AS t(a)
SELECT * FROM dblink('x', 'SELECT 1') AS t(a int)
SELECT * FROM generate_series(1, 1000000000)
SELECT id FROM orders, LATERAL pg_sleep(1)
SELECT id FROM ROWS FROM (pg_sleep(1)) AS t(id)
SELECT id FROM orders WHERE id OPERATOR(pg_catalog.=) 1
SELECT id FROM orders WHERE id = $1
SELECT public.lower(name) FROM product
SELECT pg_temp.lower(name) FROM product
SELECT lpad('x', 1000000000)
SELECT rpad(name, id) FROM product
SELECT format('%1000000000s', 1)
SELECT $$x$$; DROP TABLE orders
SELECT E'\\''; DROP TABLE orders; --'
SELECT xmlparse(document 'x')
SELECT email FROM ONLY customer
SELECT email FROM customer TABLESAMPLE SYSTEM (100)
SELECT c.email FROM orders o, LATERAL (SELECT email FROM customer WHERE id = o.customer_id) c
TABLE customer
TABLE credential
SELECT id FROM "ORDERS"
SELECT ID FROM orders WHERE "ID" = 1
