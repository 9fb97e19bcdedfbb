--- both
SELECT 1
SELECT 1 AS one, 'two' AS two, NULL AS none
SELECT id FROM orders
select ID, TOTAL from ORDERS
SELECT id FROM orders;
SELECT id FROM orders -- a remark; DROP TABLE orders
/* first */ SELECT id /* then */ FROM orders
SELECT * FROM orders
SELECT o.* FROM orders o
SELECT * FROM orders LIMIT 2
SELECT * FROM orders ORDER BY total DESC LIMIT 2 OFFSET 1
SELECT DISTINCT status FROM orders
SELECT count(*) FROM customer
SELECT count(*), count(DISTINCT country) FROM customer
SELECT count(id), sum(total), avg(total), min(total), max(total) FROM orders
SELECT status, count(*) AS n FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY n DESC
SELECT status, sum(total) FROM orders GROUP BY 1 ORDER BY 2 DESC
SELECT c.name, sum(o.total) AS spent FROM customer c JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY spent DESC
SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer_id = c.id
SELECT c.name, o.id FROM customer c INNER JOIN orders o ON o.customer_id = c.id AND o.status = 'paid'
SELECT c.name, o.id FROM customer c CROSS JOIN orders o
SELECT c.name, o.id FROM customer c, orders o WHERE c.id = o.customer_id
SELECT p.name, k.name FROM product p JOIN category k ON k.id = p.category_id
SELECT p.name FROM product p JOIN order_item i ON i.product_id = p.id JOIN orders o ON o.id = i.order_id WHERE o.status = 'open'
SELECT order_id, sum(quantity * unit_price) FROM order_item GROUP BY order_id
SELECT id, total * 2, total + 1, total - 1, total / 2, -total FROM orders
SELECT id FROM orders WHERE total BETWEEN 5 AND 20
SELECT id FROM orders WHERE status IN ('paid', 'open')
SELECT id FROM orders WHERE status NOT IN ('paid')
SELECT id FROM orders WHERE NOT status = 'paid'
SELECT id FROM orders WHERE status LIKE 'p%'
SELECT id FROM orders WHERE status LIKE '%a%' ESCAPE '!'
SELECT id FROM orders WHERE status <> 'paid' OR total >= 20 AND total != 0
SELECT id FROM orders WHERE total IS NOT NULL
SELECT id FROM category WHERE parent_id IS NULL
SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customer WHERE country = 'CA')
SELECT id FROM orders WHERE customer_id = (SELECT max(id) FROM customer)
SELECT name FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.total > 10)
SELECT name FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id)
SELECT name, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customer c
SELECT t.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) t WHERE t.n > 1
SELECT avg(t.n) FROM (SELECT count(*) AS n FROM orders GROUP BY customer_id) t
WITH t AS (SELECT customer_id, sum(total) AS s FROM orders GROUP BY customer_id) SELECT c.name, t.s FROM t JOIN customer c ON c.id = t.customer_id
WITH a AS (SELECT id FROM orders), b AS (SELECT id FROM a WHERE id > 1) SELECT count(*) FROM b
WITH t (a, b) AS (SELECT id, total FROM orders) SELECT a, b FROM t
WITH t AS (SELECT * FROM orders) SELECT * FROM t
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT n FROM t
WITH RECURSIVE t(n) AS (SELECT 10 UNION ALL SELECT n - 1 FROM t WHERE n > 1) SELECT sum(n) FROM t
WITH RECURSIVE t(n, f) AS (SELECT 1, 1 UNION ALL SELECT n + 1, f * 2 FROM t WHERE n < 10 AND f < 1000) SELECT n, f FROM t
WITH RECURSIVE t(id) AS (SELECT id FROM employee WHERE manager_id IS NULL UNION SELECT e.id FROM employee e JOIN t ON e.manager_id = t.id) SELECT id FROM t
WITH RECURSIVE t(id, depth) AS (SELECT id, 0 FROM category WHERE parent_id IS NULL UNION ALL SELECT c.id, t.depth + 1 FROM category c JOIN t ON c.parent_id = t.id WHERE depth < 20) SELECT id, depth FROM t
SELECT name FROM product UNION SELECT name FROM category
SELECT name FROM product UNION ALL SELECT name FROM category ORDER BY 1 LIMIT 3
SELECT id FROM orders INTERSECT SELECT id FROM customer
SELECT id FROM orders EXCEPT SELECT id FROM customer
SELECT CASE WHEN total > 10 THEN 'large' WHEN total > 5 THEN 'middle' ELSE 'small' END AS size, count(*) FROM orders GROUP BY 1
SELECT CASE status WHEN 'paid' THEN 1 ELSE 0 END FROM orders
SELECT sum(CASE WHEN status = 'paid' THEN total ELSE 0 END) * 100.0 / sum(total) FROM orders
SELECT coalesce(parent_id, 0), nullif(name, 'Tea') FROM category
SELECT cast(total AS integer), cast(id AS text) FROM orders
SELECT upper(name), lower(name), length(name), trim(name), replace(name, 'a', 'b'), substr(name, 1, 2) FROM product
SELECT abs(total), round(total, 1) FROM orders
SELECT name || ' in ' || country FROM customer
SELECT id, row_number() OVER (ORDER BY total DESC) FROM orders
SELECT id, rank() OVER (PARTITION BY customer_id ORDER BY total DESC) AS r, dense_rank() OVER (ORDER BY status) FROM orders
SELECT id, sum(total) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders
SELECT id, avg(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders
SELECT id, lag(total) OVER (ORDER BY id), lead(total, 1, 0) OVER (ORDER BY id) FROM orders
SELECT id, first_value(total) OVER w, last_value(total) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id)
SELECT id, ntile(2) OVER (ORDER BY id), percent_rank() OVER (ORDER BY total), cume_dist() OVER (ORDER BY total) FROM orders
SELECT t.id FROM (SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY total DESC) AS r FROM orders) t WHERE t.r = 1
SELECT count(*) FILTER (WHERE status = 'paid') FROM orders
SELECT country, count(*) FROM order_summary GROUP BY country
SELECT * FROM order_summary
SELECT name FROM customer_contact
SELECT id, name FROM customer_contact ORDER BY name
SELECT id FROM contact_domain
SELECT count(*) FROM contact_domain
SELECT name FROM hashes
SELECT v.name, o.total FROM customer_contact v JOIN orders o ON o.customer_id = v.id
SELECT "Mixed Case" FROM "Odd Table"
SELECT "Mixed Case", "select" FROM "Odd Table" WHERE "select" > 5
SELECT o."Mixed Case" AS "A name" FROM "Odd Table" o ORDER BY "A name"
SELECT * FROM "Odd Table"
SELECT e.name, m.name FROM employee e LEFT JOIN employee m ON m.id = e.manager_id
SELECT name FROM employee ORDER BY name
SELECT manager_id, count(*) FROM employee GROUP BY manager_id
SELECT id FROM orders WHERE placed_on >= '2024-01-01' AND placed_on < '2025-01-01'
SELECT placed_on, count(*) FROM orders GROUP BY placed_on ORDER BY placed_on
SELECT id FROM orders WHERE placed_on = (SELECT max(placed_on) FROM orders)
SELECT current_date, current_timestamp
SELECT id FROM orders ORDER BY placed_on DESC NULLS LAST, id ASC
SELECT order_id, quantity FROM order_item JOIN orders ON orders.id = order_item.order_id
SELECT i.product_id FROM order_item i JOIN order_item j USING (product_id) GROUP BY i.product_id
SELECT 'DROP TABLE orders; --' AS harmless
SELECT id FROM orders WHERE status = 'DELETE FROM orders'
SELECT 'it''s' AS quoted, 'a%b' AS percent, ':name' AS colon, '?' AS mark
SELECT name AS "delete" FROM product
SELECT total AS "update", id AS "insert" FROM orders
SELECT (SELECT 1) + (SELECT 2)
SELECT id FROM orders WHERE (customer_id, status) IN (SELECT customer_id, 'paid' FROM orders)
SELECT max(total) - min(total) AS spread FROM orders WHERE status = 'paid'
SELECT status FROM orders GROUP BY status HAVING sum(total) > (SELECT avg(total) FROM orders)
SELECT a.id, b.id FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.id < b.id
SELECT c.country, p.name, sum(i.quantity) FROM customer c JOIN orders o ON o.customer_id = c.id JOIN order_item i ON i.order_id = o.id JOIN product p ON p.id = i.product_id GROUP BY c.country, p.name
WITH best AS (SELECT product_id, sum(quantity) AS n FROM order_item GROUP BY product_id ORDER BY n DESC LIMIT 2) SELECT p.name, best.n FROM best JOIN product p ON p.id = best.product_id
SELECT id % 2, count(*) FROM orders GROUP BY id % 2
SELECT id FROM orders WHERE TRUE AND NOT FALSE
SELECT DISTINCT c.name FROM customer c JOIN orders o ON c.id = o.customer_id ORDER BY c.name
SELECT sum(total) FROM orders WHERE customer_id NOT IN (SELECT id FROM customer WHERE country = 'US')
SELECT id FROM (SELECT id FROM (SELECT id FROM orders) a) b
SELECT q.id FROM (SELECT id FROM orders UNION ALL SELECT id FROM customer) q
SELECT min(c.joined_on), max(c.joined_on) FROM customer c
SELECT sqrt(4), power(2, 3), floor(1.5), ceil(1.5)
--- sqlite
SELECT strftime('%Y', placed_on) AS y, sum(total) FROM orders GROUP BY y
SELECT date(placed_on, 'start of month'), count(*) FROM orders GROUP BY 1
SELECT julianday('now') - julianday(placed_on) FROM orders
SELECT date('now', '-30 days')
SELECT datetime('now'), time('now'), unixepoch('now')
SELECT id FROM orders WHERE strftime('%Y-%m', placed_on) = '2024-03'
SELECT iif(total > 5, 'a', 'b'), ifnull(status, '') FROM orders
SELECT group_concat(name, ', ') FROM product
SELECT instr(name, 'tea'), typeof(price), hex('a') FROM product
SELECT cast(total AS REAL), total(total) FROM orders GROUP BY id
SELECT name FROM product WHERE name GLOB '*tea'
SELECT name FROM customer ORDER BY name COLLATE NOCASE
SELECT json_extract('{"a": 1}', '$.a')
SELECT max(total, 5) FROM orders
SELECT main.orders.id FROM main.orders
SELECT [id] FROM [orders]
SELECT `id` FROM `orders`
SELECT "ID" FROM "ORDERS"
SELECT id FROM orders LIMIT 1, 2
SELECT id FROM orders WHERE total == 20
--- postgresql
SELECT date_trunc('month', placed_on) AS m, sum(total) FROM orders GROUP BY m ORDER BY m
SELECT extract(year FROM placed_on), count(*) FROM orders GROUP BY 1
SELECT date_part('year', placed_on) FROM orders
SELECT to_char(placed_on, 'YYYY-MM'), count(*) FROM orders GROUP BY 1
SELECT id FROM orders WHERE placed_on > now() - interval '30 years'
SELECT id FROM orders WHERE placed_on >= date '2024-01-01'
SELECT age(current_date, placed_on) FROM orders
SELECT placed_on::text, total::int, id::numeric(10, 2) FROM orders
SELECT name FROM product WHERE name ILIKE '%TEA%'
SELECT name FROM product WHERE name ~ '^G' OR name ~* 'BREAD'
SELECT string_agg(name, ', ' ORDER BY name) FROM product
SELECT array_agg(id), array_length(array_agg(id), 1) FROM orders
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) FROM orders
SELECT stddev(total), variance(total), corr(total, id) FROM orders
SELECT status, customer_id, sum(total) FROM orders GROUP BY ROLLUP (status, customer_id)
SELECT status, customer_id, count(*) FROM orders GROUP BY GROUPING SETS ((status), (customer_id), ())
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, total DESC
SELECT c.name, x.id FROM customer c, LATERAL (SELECT id FROM orders o WHERE o.customer_id = c.id ORDER BY total DESC LIMIT 1) x
SELECT c.name, x.id FROM customer c LEFT JOIN LATERAL (SELECT id FROM orders o WHERE o.customer_id = c.id LIMIT 1) x ON true
SELECT public.orders.id FROM public.orders
SELECT id FROM orders FETCH FIRST 2 ROWS ONLY
SELECT id FROM orders LIMIT ALL
SELECT id FROM orders WHERE id = ANY (ARRAY[1, 2])
SELECT t.a FROM (VALUES (1), (2)) AS t(a)
SELECT u.x FROM unnest(ARRAY[1, 2]) AS u(x)
SELECT name FROM customer FULL JOIN orders ON orders.customer_id = customer.id
SELECT coalesce(sum(total) FILTER (WHERE status = 'paid'), 0) FROM orders
SELECT round(avg(total), 2), greatest(1, 2), least(1, 2) FROM orders
SELECT initcap(name), left(name, 2), right(name, 2), split_part(name, ' ', 1), lpad(name, 10, '*') FROM product
SELECT json_build_object('id', id, 'total', total) FROM orders
SELECT '{"a": 1}'::json ->> 'a'
SELECT bool_or(total > 10), bool_and(total > 1), every(total > 0) FROM orders
SELECT regexp_replace(name, '[aeiou]', '', 'g') FROM product
SELECT id FROM orders ORDER BY total DESC NULLS FIRST
SELECT name FROM product WHERE name SIMILAR TO '(Green|Black) tea'
