import { randomUUID } from 'node:crypto';
import { serveIntake } from './hand-written.js';
import { startPlainStore } from './store.js';

// Group commit by hand: messages that arrive during one statement go into the next.
const { pool, stop } = await startPlainStore();
let waiting: { readonly body: string; readonly done: () => void }[] = [];
let isBusy = false;

async function flush(): Promise<void> {
  isBusy = true;
  while (waiting.length > 0) {
    const batch = waiting;
    waiting = [];
    await pool.query({
      name: 'many',
      text: 'insert into accepted (id, body) select * from unnest($1::uuid[], $2::text[])',
      values: [batch.map(() => randomUUID()), batch.map(({ body }) => body)],
    });
    for (const { done } of batch) done();
  }
  isBusy = false;
}

serveIntake(
  (body) =>
    new Promise((resolve) => {
      waiting.push({ body, done: resolve });
      if (!isBusy) setImmediate(() => (isBusy ? undefined : void flush()));
    }),
  stop,
);
