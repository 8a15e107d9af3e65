import test from 'ava';
import { systemRandom } from '../../../../cluster/index.js';
import type { BatchTarget } from '../../../../src/infra/storage/index.js';
import { StoreError } from '../../../../src/infra/storage/index.js';
import { type Send, Writer } from '../../../../src/infra/storage/batch-writer.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

interface Word {
  readonly word: string;
}

const words: BatchTarget<Word, 'written'> = {
  name: 'words',
  text: '',
  values: (rows) => rows.map(({ word }) => word),
  outcomes: (rows) => rows.map(() => 'written'),
};

test('a row that was given up while a connection opened is not sent afterwards, and those that wait with it are', async (t) => {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const sent: unknown[][] = [];
  const opening: (() => void)[] = [];
  const send: Send = async ({ values }, maySend) => {
    await new Promise<void>((resolve) => opening.push(resolve));
    if (!maySend()) return undefined;
    sent.push(values ?? []);
    return { rows: [], command: '', rowCount: 0, oid: 0, fields: [] };
  };
  const connected = async (): Promise<void> => (await eventually(() => opening.shift()))();
  const writer = new Writer(words, send, time, systemRandom, { deadlineMs: 1_000, inFlightMax: 1 });
  const blocking = writer.write({ word: 'blocking' });
  await eventually(() => opening.length === 1);
  // Both wait for the first batch and become one, each with its own deadline.
  const [early, late] = [
    writer.write({ word: 'early' }),
    (time.advance(500), writer.write({ word: 'late' })),
  ];
  await connected();
  await blocking;
  await eventually(() => opening.length === 1);
  time.advance(500);
  t.like(await t.throwsAsync(early, { instanceOf: StoreError }), { failure: 'unavailable', retryable: true });
  await connected();
  await eventually(() => {
    time.advance(10);
    return opening.length === 1;
  });
  await connected();
  t.is(await late, 'written');
  t.deepEqual(sent, [['blocking'], ['late']]);
});
