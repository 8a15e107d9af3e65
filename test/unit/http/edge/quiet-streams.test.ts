import test from 'ava';
import { z } from 'zod';
import { anyone, declare, eventStream, type StreamWriter } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { RawConnection } from '../../../support/clients/raw-http.js';

function stream(run: (writer: StreamWriter) => Promise<void>) {
  return startEdge([
    declare({
      name: 'a.b',
      method: 'GET',
      path: '/stream',
      title: 'Stream',
      access: anyone(),
      output: z.unknown(),
      handle: () => eventStream(run),
    }),
  ]);
}

const request = 'GET /stream HTTP/1.1\r\nHost: a\r\n\r\n';

/** Writes nothing more, until the reader has gone. */
async function nothingMore({ gone }: { readonly gone: AbortSignal }): Promise<void> {
  if (gone.aborted) return;
  await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
}

test('the head of a quiet stream is sent at once, with a comment that readers skip', async (t) => {
  const edge = await stream(nothingMore);
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port).send(request);
  await eventually(() => connection.received.includes(': open\n\n'), {
    what: 'the opening',
    timeoutMs: 5_000,
  });
  t.deepEqual(connection.statuses, [200]);
});

test('buffered data for a slow reader arrives although the stream falls silent', async (t) => {
  const length = 20 * 1024 * 1024;
  let drained = false;
  const edge = await stream(async (writer) => {
    if (!writer.write(`data: ${'x'.repeat(length)}\n\n`)) await writer.drained();
    drained = true;
    await nothingMore(writer);
  });
  t.teardown(edge.close);
  const connection = new RawConnection(t, edge.port);
  connection.socket.pause();
  connection.send(request);
  await eventually(() => edge.server.runningRequests === 1, { what: 'the stream' });
  connection.socket.resume();
  await eventually(() => connection.received.length > length, { what: 'the whole event' });
  t.true(drained);
});
