// Replies in the shapes that the vendors send, each replayed whole and cut at every byte.
import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { adaptersByVendor, totalTokens, type VendorAdapter } from '../../../src/llm/index.js';
import type { ReplyItem } from '../../../src/llm/contract.js';
import { readEnd } from '../../../src/llm/transport/end-of-stream.js';
import { SseParser } from '../../../src/llm/transport/sse-parser.js';
import { plain } from '../../support/servers/vendors/plain-items.js';

const root = new URL('../../../../test/fixtures/llm/', import.meta.url);
const compatible = { name: 'compatible', baseUrl: 'http://x', reveal: () => undefined, models: [] };
const adapters = adaptersByVendor([compatible]);

function replay(adapter: VendorAdapter, pieces: readonly Buffer[]): ReplyItem[] {
  const items: ReplyItem[] = [];
  const parser = new SseParser(1 << 20);
  const reader = adapter.reader();
  for (const piece of pieces) parser.push(piece, (event) => reader.read(event, items));
  readEnd(parser, reader, items);
  return items;
}

for (const vendor of readdirSync(root)) {
  const adapter = adapters.get(vendor);
  if (adapter === undefined) throw new Error(`fixtures of an unknown vendor: ${vendor}`);
  const folder = new URL(`${vendor}/`, root);
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.sse'))) {
    const bytes = readFileSync(new URL(name, folder));
    const expected: unknown = JSON.parse(
      readFileSync(new URL(name.replace('.sse', '.json'), folder), 'utf8'),
    );

    test(`${vendor}/${name} gives the items recorded beside it`, (t) => {
      t.deepEqual(plain(replay(adapter, [bytes])), expected);
    });

    test(`${vendor}/${name}: the parts of its usage add up to the vendor's total`, (t) => {
      for (const item of replay(adapter, [bytes])) {
        if (item.type !== 'usage') continue;
        const total = statedTotal(item.usage.raw);
        if (total !== undefined) t.is(totalTokens(item.usage), total);
      }
      t.pass();
    });

    test(`${vendor}/${name} gives the same wherever it is split in two, and byte by byte`, (t) => {
      const whole = JSON.stringify(plain(replay(adapter, [bytes])));
      for (let at = 1; at < bytes.length; at += 1) {
        const cut = plain(replay(adapter, [bytes.subarray(0, at), bytes.subarray(at)]));
        if (JSON.stringify(cut) !== whole) {
          t.fail(`cut at byte ${at}: ${JSON.stringify(cut)}`);
          return;
        }
      }
      const single = Array.from(bytes, (byte) => Buffer.from([byte]));
      t.is(JSON.stringify(plain(replay(adapter, single))), whole);
    });

    test(`${vendor}/${name} cut off at any byte ends with a reason or an error, and never throws`, (t) => {
      for (let at = 0; at < bytes.length; at += 1) {
        const items = replay(adapter, [bytes.subarray(0, at)]);
        if (!items.some(({ type }) => type === 'stop' || type === 'failure')) {
          t.fail(`silent when it ends at byte ${at}`);
          return;
        }
      }
      t.pass();
    });
  }
}

/** Where the vendor itself adds up; Anthropic never does. */
function statedTotal(raw: unknown): number | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const totals = Object.entries(raw).filter(([key]) => key === 'total_tokens' || key === 'totalTokenCount');
  const [, total] = totals[0] ?? [];
  return typeof total === 'number' ? total : undefined;
}
