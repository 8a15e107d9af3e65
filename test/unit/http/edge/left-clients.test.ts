// A client that leaves is no error of its request: logs and metrics call it what it is.
import { connect } from 'node:net';
import test from 'ava';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { z } from 'zod';
import { createRequestReporter } from '../../../../src/http/edge/index.js';
import { createLog, Metrics, RecentErrors } from '../../../../src/infra/diagnostics/index.js';
import { anyone, closedHere, declare, eventStream } from '../../../../src/http/operations/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { startEdge } from '../../../support/servers/edge.js';

const common = { title: 'x', access: anyone(), output: z.unknown() } as const;

test('leaving before the body is complete, and before the answer, is client_closed', async (t) => {
  let began = 0;
  const edge = await startEdge([
    declare({
      ...common,
      name: 'a.body',
      method: 'POST',
      path: '/body',
      body: z.looseObject({}),
      handle: () => ({}),
    }),
    declare({
      ...common,
      name: 'a.slow',
      method: 'GET',
      path: '/slow',
      handle: ({ signal }) =>
        new Promise((resolve) => {
          began += 1;
          signal.addEventListener('abort', () => resolve({}), { once: true });
        }),
    }),
    declare({
      ...common,
      name: 'a.broken',
      method: 'GET',
      path: '/broken',
      handle: ({ signal }) =>
        new Promise((_, reject) => {
          began += 1;
          signal.addEventListener('abort', () => reject(new Error('a bug')), { once: true });
        }),
    }),
  ]);
  t.teardown(edge.close);
  const open = (text: string) => {
    const socket = connect(edge.port, '127.0.0.1', () => socket.write(text));
    return socket;
  };
  const body = open('POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":');
  const slow = open('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
  const broken = open('GET /broken HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => began === 2 && edge.server.runningRequests === 3);
  for (const socket of [body, slow, broken]) socket.destroy();
  await eventually(() => edge.reports.length === 3);
  for (const { operation, exchange, errorCode, failure } of edge.reports) {
    t.is(exchange.status, 499, operation);
    t.is(errorCode, 'client_closed', operation);
    t.is(failure instanceof Error, operation === 'a.broken', 'the log still has the cause of a bug');
  }

  const lines: string[] = [];
  const write = (line: string): boolean => lines.push(line) > 0;
  const log = createLog({
    level: 'info',
    destination: { write, writeAscii: write, flushSync: () => undefined },
  });
  const metrics = new Metrics({ runningRequests: () => 0, lagMs: () => 0 });
  const recentErrors = new RecentErrors(systemPlatform);
  const report = createRequestReporter({ time: systemPlatform.time, log, metrics, recentErrors });
  for (const one of edge.reports) report(one);
  t.like(JSON.parse(lines[0] ?? ''), { status: 499, code: 'client_closed' });
  t.regex(await metrics.text(), /operation="a\.body",status="499"\} 1/);
  t.deepEqual(recentErrors.metrics(), { total_errors: 0, by_type: {}, error_rate: 0 });
});

test('a client that leaves before its stream opens ends the stream', async (t) => {
  const ran: boolean[] = [];
  let began = false;
  const edge = await startEdge([
    declare({
      ...common,
      name: 'a.stream',
      method: 'GET',
      path: '/stream',
      async handle({ signal }) {
        began = true;
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return eventStream((writer) => {
          ran.push(writer.gone.aborted);
          return Promise.resolve();
        });
      },
    }),
  ]);
  t.teardown(edge.close);
  const socket = connect(edge.port, '127.0.0.1', () =>
    socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n'),
  );
  await eventually(() => began);
  socket.destroy();
  await eventually(() => edge.reports.length === 1);
  t.deepEqual(ran, [true]);
  t.is(edge.reports[0]?.failure, undefined);
});

test('a stream learns whether its client left or the node closed it', async (t) => {
  const reasons: unknown[] = [];
  let open = 0;
  const edge = await startEdge([
    declare({
      ...common,
      name: 'a.stream',
      method: 'GET',
      path: '/stream',
      handle: () =>
        eventStream(async ({ gone, cut }) => {
          open += 1;
          if (open === 2) cut?.();
          if (!gone.aborted)
            await new Promise((resolve) => gone.addEventListener('abort', resolve, { once: true }));
          reasons.push(gone.reason === closedHere ? 'closed here' : gone.reason);
        }),
    }),
  ]);
  const ask = () => {
    const socket = connect(edge.port, '127.0.0.1', () =>
      socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n'),
    );
    socket.on('error', () => undefined);
    return socket;
  };
  const left = ask();
  await eventually(() => open === 1);
  left.destroy();
  await eventually(() => reasons.length === 1);
  t.like(reasons[0], { name: 'AbortError' });
  ask();
  await eventually(() => reasons.length === 2);
  ask();
  await eventually(() => open === 3);
  await edge.server.close(AbortSignal.abort());
  await eventually(() => reasons.length === 3);
  t.deepEqual(reasons.slice(1), ['closed here', 'closed here']);
});
