// Twins on two nodes, and processes that are lost between any two lines.
import test from 'ava';
import { z } from 'zod';
import { KeptRequests, recordMade } from '../../../../src/http/idempotency/index.js';
import {
  apiKey,
  type BegunRequest,
  declare,
  eventStream,
  type NamedRequest,
  type Operation,
  type OperationRequest,
  OperationTable,
  StreamReply,
  type StreamWriter,
} from '../../../../src/http/operations/index.js';
import { createSealer } from '../../../../src/infra/sealing/index.js';
import { openStore, sql, type Store } from '../../../../src/infra/storage/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import type { KeyCaller } from '../../../../src/kernel/caller.js';
import { systemPlatform } from '../../../../src/infra/platform/index.js';
import { insertTenant, keyOf } from '../../../support/builders/callers.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

/** What one node has. */
function requests(parts: Partial<ConstructorParameters<typeof KeptRequests>[0]> = {}): KeptRequests {
  const { time, ids, random } = systemPlatform;
  const sealer = createSealer({ masterKey: Buffer.alloc(32, 3), random });
  return new KeptRequests({ store, sealer, time, ids, report: () => undefined, ...parts });
}

async function named(): Promise<NamedRequest & { readonly caller: KeyCaller }> {
  const caller = keyOf(await insertTenant(store));
  return { caller, operation: 'things.create', key: 'k', input: {}, leaving: new AbortController().signal };
}

type Held = Extract<BegunRequest, { readonly state: 'held' }>;

function held(begun: BegunRequest): Held {
  if (begun.state !== 'held') throw new Error('the request was answered before');
  return begun;
}

/** The process that holds the request is slow or gone: its time is over. */
async function expire({ caller }: { readonly caller: KeyCaller }): Promise<void> {
  await store.inTenant(caller.scope, (tx) =>
    tx.query(
      sql.typeAlias('nothing')`update idempotent_requests set held_until = now() - interval '1 second'`,
    ),
  );
}

test('a process whose request was taken over makes nothing, however late it comes', async (t) => {
  const request = await named();
  const slow = held(await requests().begin(request));
  await expire(request);
  const next = held(await requests().begin(request));
  t.is(next.seed, slow.seed, 'ids stay the same');
  await t.throwsAsync(
    store.inTenant(slow.scope, (tx) => recordMade(tx, 'thing:1')),
    { instanceOf: PlatformError, message: /taken it over/ },
  );
  await store.inTenant(next.scope, (tx) => recordMade(tx, 'thing:2'));
  // Nor does it end the request of the other.
  await slow.release();
  await slow.keep(null);
  await expire(request);
  const last = held(await requests().begin(request));
  t.is(last.made, 'thing:2');
  await last.keep(null);
  await next.release();
});

test('a takeover waits for the transaction that is about to commit, and finds what it made', async (t) => {
  const request = await named();
  const slow = held(await requests().begin(request));
  await expire(request);
  let begun: Promise<BegunRequest> | undefined;
  await store.inTenant(slow.scope, async (tx) => {
    await recordMade(tx, 'thing:1');
    begun = requests().begin(request);
    await eventually(() =>
      tx.oneFirst(sql.type(z.object({ waits: z.boolean() }))`
        select exists (
          select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))) as waits`),
    );
  });
  const next = held(await (begun as Promise<BegunRequest>));
  t.is(next.made, 'thing:1');
  await next.release();
  await slow.release();
});

test('a request that made nothing is new after its release, one that made something is not', async (t) => {
  const request = await named();
  const first = held(await requests().begin(request));
  await first.release();
  const second = held(await requests().begin({ ...request, input: { other: 1 } }));
  t.not(second.seed, first.seed);
  await store.inTenant(second.scope, (tx) => recordMade(tx, 'thing:1'));
  await second.release();
  await t.throwsAsync(requests().begin(request), { instanceOf: PlatformError });
  const third = held(await requests().begin({ ...request, input: { other: 1 } }));
  t.is(third.made, 'thing:1');
  await third.keep({ kind: 'json', status: 201, contentType: 'application/json', headers: {}, body: '{}' });
  const answered = await requests().begin({ ...request, input: { other: 1 } });
  t.like(answered, { state: 'answered', made: 'thing:1', answer: { kind: 'json', body: '{}' } });
});

test('a request whose execution is erased before it is answered keeps no answer', async (t) => {
  const request = await named();
  const { scope } = request.caller;
  const first = held(await requests().begin(request));
  await store.inTenant(scope, async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into executions (tenant_id, id, agent_id, slot, arrival, channel, status, due_at, input, created_at)
      values (${scope.tenantId}, ${first.seed}, ${first.seed}, 0, 0, 'chat', 'running', now(), '{}', now())`);
  });
  await store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`delete from executions where id = ${first.seed}`),
  );
  await first.keep({
    kind: 'json',
    status: 200,
    contentType: 'application/json',
    headers: {},
    body: '"words"',
  });
  await first.release(true);
  t.like(await requests().begin(request), { state: 'answered', seed: first.seed, answer: null });
});

function operationOf(
  handle: (request: OperationRequest) => unknown,
  one: Partial<Operation> = {},
): Operation {
  const declared = declare({
    name: 'things.ask',
    method: 'POST',
    audit: { exempt: 'an operation of a test' },
    idempotency: 'answer',
    path: '/api/things',
    title: 'Ask',
    access: apiKey('llm:call'),
    body: z.unknown(),
    output: z.unknown(),
    handle,
  });
  const [operation] = new OperationTable([{ ...declared, ...one }], undefined, requests()).operations;
  return operation as Operation;
}

async function requestOf(body: unknown): Promise<OperationRequest> {
  const { signal } = new AbortController();
  return {
    caller: keyOf(await insertTenant(store)),
    params: {},
    query: {},
    body,
    rawBody: new Uint8Array(),
    rawQuery: '',
    headers: { 'idempotency-key': 'k' },
    requestId: 'r',
    signal,
    leaving: signal,
  };
}

test('failures are not kept: the next request runs anew', async (t) => {
  let runs = 0;
  const operation = operationOf(() => {
    runs += 1;
    if (runs === 1) throw PlatformError.again('provider_error', {});
    if (runs === 2) throw new Error('unexpected');
    return { runs };
  });
  const request = await requestOf({});
  await t.throwsAsync(async () => operation.handle(request), { instanceOf: PlatformError });
  await t.throwsAsync(async () => operation.handle(request), { message: 'unexpected' });
  t.deepEqual(await operation.handle(request), { runs: 3 });
  t.like(await operation.handle(request), { body: { runs: 3 } });
});

for (const rule of ['turn', 'ids'] as const) {
  test(`a repeat after a failure has the same ids, for what began unnoticed (${rule})`, async (t) => {
    const seeds: (string | undefined)[] = [];
    const operation = operationOf(
      ({ repeat }) => {
        seeds.push(repeat?.seed);
        if (seeds.length === 1) throw new PlatformError('service_unavailable');
        if (seeds.length === 2) throw new Error('unexpected');
        return { began: true };
      },
      { idempotency: rule },
    );
    const request = await requestOf({});
    await t.throwsAsync(async () => operation.handle(request), { instanceOf: PlatformError });
    await t.throwsAsync(async () => operation.handle(request), { message: 'unexpected' });
    t.like(await operation.handle(request), { began: true });
    t.is(seeds.length, 3);
    t.is(new Set(seeds).size, 1);
  });
}

test('a renewal that comes after the release does not hold the request again', async (t) => {
  const time = new ManualTime('2026-11-23T12:00:00Z');
  let arrive: () => void = () => undefined;
  let before: Promise<void> | undefined;
  let renewal: Promise<unknown> | undefined;
  const inTenant: Store['inTenant'] = (scope, work) => {
    if (before === undefined) return store.inTenant(scope, work);
    const late = before.then(() => store.inTenant(scope, work));
    renewal = late;
    return late;
  };
  const request = await named();
  const first = held(await requests({ time, store: { ...store, inTenant } }).begin(request));
  before = new Promise((resolve) => (arrive = resolve));
  time.advance(5_000);
  before = undefined;
  await first.release(true);
  arrive();
  t.false(await renewal, 'the hold is over');
  const next = held(await requests().begin(request));
  t.is(next.seed, first.seed);
  await next.release();
});

function writer(): StreamWriter & { readonly written: () => string; readonly leave: () => void } {
  const gone = new AbortController();
  let text = '';
  return {
    write: (chunk) => {
      text += String(chunk);
      return true;
    },
    drained: () => Promise.resolve(),
    gone: gone.signal,
    written: () => text,
    leave: () => gone.abort(),
  };
}

test('a stream is kept once it is whole; one that failed or was left is not', async (t) => {
  let runs = 0;
  const operation = operationOf(() => {
    runs += 1;
    const run = runs;
    return eventStream(async (out) => {
      out.write(`data: ${run}\n\n`);
      if (run === 1) out.failed?.();
      return 'data: end\n\n';
    });
  });
  const request = await requestOf({});
  const read = async (client = writer()): Promise<unknown> => {
    const answer = await operation.handle(request);
    return answer instanceof StreamReply ? await answer.run(client) : answer;
  };
  await read();
  const leaving = writer();
  leaving.leave();
  await read(leaving);
  await read();
  t.is(runs, 3);
  const again = await read();
  t.like(again, { status: 200, contentType: 'text/event-stream; charset=utf-8' });
  t.is((again as { body: string }).body, ': open\n\ndata: 3\n\ndata: end\n\n');
  t.is(runs, 3);
});
