// Streams that end leave nothing behind at the signal of the node's end, which lives as long as the process.
import { getEventListeners } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { serveStream } from '../../../src/conversations/realtime/realtime-connection.js';
import { serveSessionChanges } from '../../../src/conversations/sessions/session-changes-stream.js';
import type { StreamWriter } from '../../../src/http/operations/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const scope = tenantScope('10000000-0000-4000-8000-000000000001');
const nothing = (): void => undefined;

/** Serves streams whose client leaves, and one that ends with the node. */
async function serves(
  t: ExecutionContext,
  serve: (stopping: AbortSignal, writer: StreamWriter, time: ManualTime) => Promise<void>,
): Promise<void> {
  const time = new ManualTime('2026-11-23T12:00:00Z');
  const stopping = new AbortController();
  const listening = (): number => getEventListeners(stopping.signal, 'abort').length;
  const begin = () => {
    const client = new AbortController();
    const drained = () => Promise.resolve();
    const ended = serve(stopping.signal, { gone: client.signal, write: () => true, drained }, time);
    return { client, ended };
  };
  for (const { client, ended } of [begin(), begin()]) {
    client.abort();
    await ended;
  }
  t.is(listening(), 0);
  const last = begin();
  t.is(listening(), 1);
  stopping.abort();
  await last.ended;
  t.is(time.pending, 0);
}

test('the stream of realtime events', (t) =>
  serves(t, (stopping, writer, time) => {
    const join = async ({ joined }: { joined: (position: number) => void }) => joined(1);
    const hub = { stopping, enter: () => nothing, listen: () => nothing, join };
    return serveStream(hub as never, scope, undefined, writer, time);
  }));

test('the stream of changed sessions', (t) =>
  serves(t, (stopping, writer, time) =>
    serveSessionChanges({ stopping, follow: () => nothing } as never, scope, writer, time),
  ));
