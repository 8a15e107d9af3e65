import { randomUUID } from 'node:crypto';
import { serveIntake } from './hand-written.js';
import { startPlainStore } from './store.js';

// One insert per request.
const { pool, stop } = await startPlainStore();
serveIntake(async (body) => {
  await pool.query({
    name: 'one',
    text: 'insert into accepted (id, body) values ($1, $2)',
    values: [randomUUID(), body],
  });
}, stop);
