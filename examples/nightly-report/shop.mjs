// The shop: answers the tool of the agent from its database, and receives the report. SHOP_DATABASE_URL names a PostgreSQL
// database; a table `orders` with sample rows is made where there is none.
import pg from 'pg';
import { standIn } from '../stand-in.mjs';

const database = new pg.Client({ connectionString: process.env.SHOP_DATABASE_URL });
await database.connect();
await database.query(`
  create table if not exists orders (id bigserial primary key, placed_on date not null, amount numeric not null)`);
const { rows: found } = await database.query('select count(*)::int as orders from orders');
if (found[0].orders === 0) {
  await database.query(`
    insert into orders (placed_on, amount)
    select current_date - 1 - n % 2, 10 + n from generate_series(0, 4) as n`);
}

/** The one question that the agent may ask. It chooses the number of days, and never writes SQL. */
async function sales(days) {
  const { rows } = await database.query(
    `select count(*)::int as orders, sum(amount)::float as revenue, current_date - placed_on as days_ago
     from orders where placed_on >= current_date - $1::int and placed_on < current_date
     group by placed_on order by placed_on desc`,
    [days],
  );
  return rows;
}

const server = await standIn(8303, async ({ url, body }) => {
  if (url.pathname === '/sales') return sales(Number(url.searchParams.get('days') ?? 1));
  console.log(`report: ${body.agent_response}`);
  setImmediate(() => {
    server.close();
    void database.end();
  });
});
console.log('the shop is open');
