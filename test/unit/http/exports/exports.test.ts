import test from 'ava';
import {
  exportOperations,
  exportKinds,
  type ExportSource,
  keysetSource,
} from '../../../../src/http/exports/index.js';
import { lineOf } from '../../../../src/http/exports/format.js';
import { StreamReply } from '../../../../src/http/operations/index.js';
import type { TenantCaller } from '../../../../src/kernel/caller.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';

const rowsInAll = 200_000;
const tenant = 'b1d6f6a0-1111-4222-8333-444455556666';

function operationOver(source: ExportSource) {
  const sources = Object.fromEntries(exportKinds.map((kind) => [kind, source]));
  const [operation] = exportOperations(sources as Parameters<typeof exportOperations>[0], {
    wallMs: () => 0,
  });
  if (operation === undefined) throw new Error('There is one operation');
  return (format: 'csv' | 'jsonl', tenantId = tenant): StreamReply => {
    const { signal } = new AbortController();
    const reply = operation.handle({
      caller: { kind: 'key', scope: tenantScope(tenantId) } as TenantCaller,
      params: { kind: 'calls' },
      query: { format },
      body: undefined,
      rawBody: new Uint8Array(),
      rawQuery: '',
      headers: {},
      requestId: 'r',
      signal,
      leaving: signal,
    });
    if (!(reply instanceof StreamReply)) throw new Error('An export is a stream');
    return reply;
  };
}

test('200,000 rows to a slow reader: never more rows are read than the reader takes and one page', async (t) => {
  let read = 0;
  const source = keysetSource({
    columns: ['n', 'text'],
    read: async (_scope, _range, after: number | undefined, limit) => {
      const from = (after ?? 0) + 1;
      const count = Math.min(limit, rowsInAll - from + 1);
      read += count;
      return Array.from({ length: count }, (_, nth) => from + nth);
    },
    keyOf: (n) => n,
    exported: (rows) => rows.map((n) => ({ n, text: 'x'.repeat(100) })),
  });
  // A reader with a buffer of 100 lines, which it empties only when the writer waits.
  const [bufferMax, pageMax] = [100, 200];
  let [written, taken, aheadMax] = [0, 0, 0];
  await operationOver(source)('jsonl').run({
    write: () => {
      written += 1;
      aheadMax = Math.max(aheadMax, read - taken);
      return written - taken < bufferMax;
    },
    drained: async () => void (taken = written),
    gone: new AbortController().signal,
  });
  t.is(written, rowsInAll);
  t.true(aheadMax <= pageMax + bufferMax, `${aheadMax} rows ahead of the reader`);
});

test('a reader that leaves ends the reading, and a tenant has two at once', async (t) => {
  let pages = 0;
  const source: ExportSource = {
    columns: ['n'],
    page: async () => {
      pages += 1;
      return { rows: [{ n: pages }], after: pages };
    },
  };
  const start = operationOver(source);
  const leaving = new AbortController();
  const open = (): Promise<string | void> => {
    const writer = { write: () => false, drained: () => new Promise<void>((go) => setImmediate(go)) };
    return start('csv').run({ ...writer, gone: leaving.signal });
  };
  const running = [open(), open()];
  t.throws(() => start('csv'), { message: /At most 2 exports/ });
  t.notThrows(() => start('csv', 'b1d6f6a0-1111-4222-8333-444455557777'));
  leaving.abort();
  await Promise.all(running);
  t.notThrows(() => start('csv'));
});

test('a CSV cell that begins like a formula is preceded by an apostrophe', (t) => {
  const line = (value: unknown): string => lineOf('csv', ['v'], { v: value });
  t.is(line('=1+1'), "'=1+1\r\n");
  t.is(line('@SUM(A1)'), "'@SUM(A1)\r\n");
  t.is(line('+1'), "'+1\r\n");
  t.is(line('-1'), "'-1\r\n");
  t.is(line('\t=1'), "'\t=1\r\n");
  t.is(line('=1,"2"'), `"'=1,""2"""\r\n`);
  t.is(line(-1), '-1\r\n');
  t.is(line({ a: 1 }), '"{""a"":1}"\r\n');
  t.is(line(null), '\r\n');
});
