// A rolling upgrade: sessions are called by nodes of an earlier and of a later version, and call-by-call the other way round,
// over real links.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type Reference, systemTime } from '../../../../cluster/index.js';
import { RefusalDetail } from '../../../../generated/troupe/actors/v1/session.js';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import type { SessionService } from '../../../../src/conversations/sessions/parts.js';
import type { TurnEvents } from '../../../../src/conversations/sessions/requests.js';
import { sessionTables } from '../../../../src/conversations/sessions/session.store.js';
import { Sessions, type WantedTurn } from '../../../../src/conversations/sessions/sessions.js';
import {
  refusalFromWire,
  refusalToWire,
} from '../../../../src/conversations/sessions/wire/refusal-details.js';
import { toPlatformError } from '../../../../src/infra/runtime/index.js';
import { type HotReads, openHotReads } from '../../../../src/infra/storage/index.js';
import { startTurns, type TurnsBench } from '../../../support/builders/turns.js';
import { earlierVersion, laterVersion, type WireVersion } from '../../../support/builders/wire-versions.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { LinkedNode, linkNodes } from '../../../support/servers/linked-nodes.js';
import { echoingAgent, sessionKind } from '../../../support/servers/session-node.js';

const database = databaseOfFile(test);
let bench: TurnsBench;
let agent: RunnableAgent;
let reads: HotReads;

test.serial.before(async () => {
  bench = await startTurns(database);
  agent = await echoingAgent(bench);
  reads = openHotReads({ databaseUrl: database.url, time: systemTime });
  database.atEnd(() => reads.close());
});

/** Optional fields, as if the version after the first had added them. */
const newFields = [
  'OpenRequest.metadata',
  'Turn.trigger_id',
  'Turn.metadata',
  'CancelRequest.execution_id',
  'ControlRequest.if_epoch',
  'Control.expires_at',
  'TurnEvent.Tool.latency_ms',
  'TurnEvent.Error.details',
  'TurnEvent.Done.timeout_clock',
  'RefusalDetail.retry_after_seconds',
].map((name) => `troupe.actors.v1.${name}`);

/** Methods that the released version does not have: it answers `unknown_method`, which its callers get as 503. */
const newMethods: ReadonlySet<string> = new Set(['decide', 'erasePerson']);

/** A session whose owner is another node than that of its callers. */
async function startSession(
  t: ExecutionContext,
  versions: { readonly caller?: WireVersion; readonly owner?: WireVersion },
) {
  const [calling, owning] = (['caller', 'owner'] as const).map(
    (role) => new LinkedNode(role, database.url, versions[role]),
  );
  if (calling === undefined || owning === undefined) throw new Error('there are two nodes');
  const kinds = [calling, owning].map((node) => {
    const self = (group: string, key: string): Reference<SessionService> => node.references(kind)(group, key);
    const kind = sessionKind(node.commits(sessionTables), self, { bench, agent });
    node.register(kind);
    return kind;
  });
  await linkNodes(t, [calling, owning]);
  const [kind] = kinds;
  if (kind === undefined) throw new Error('there is a kind');
  const { tenantId } = bench.scope;
  let sessionId = randomUUID();
  while (!owning.ownsActor(kind.name, tenantId, sessionId)) sessionId = randomUUID();
  const references = calling.references(kind);
  const sessions = new Sessions({
    store: bench.store,
    reads,
    session: references,
    time: systemTime,
    newId: () => sessionId,
    refusalOf: toPlatformError,
  });
  const methods = [...kind.methods.keys()]
    .filter((name) => !newMethods.has(name))
    .map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  const messages = methods.flatMap((name) => [`${name}Request`, `${name}Response`]);
  return {
    sessions,
    sessionId,
    reference: references(tenantId, sessionId),
    messages: new Set(messages.map((name) => `troupe.actors.v1.${name}`)),
  };
}

function wantedTurn(sessionId: string, more: Partial<WantedTurn> = {}): WantedTurn {
  return {
    scope: bench.scope,
    sessionId,
    executionId: randomUUID(),
    agentId: agent.id,
    mustExist: true,
    ownSessionsOnly: false,
    channel: 'chat',
    consumerKey: 'ada',
    consumerDisplayName: 'Ada',
    nameInferred: false,
    input: {
      message: 'good morning, everybody',
      author: { kind: 'consumer', id: 'ada' },
      declared_context: { plan: 'gold', seats: 3, active: true },
      accepted_fields: ['message', 'context'],
      ignored_fields: [{ field: 'x', reason: 'unknown_field' }],
      quick_replies: false,
      role: 'owner',
    },
    context: { plan: 'gold', seats: 3, active: true },
    bindings: { token: 'secret' },
    metadata: { trace_id: 'a trace' },
    keyId: null,
    userId: null,
    triggerId: undefined,
    deadlineMs: 60_000,
    ...more,
  };
}

async function readTurn(events: AsyncIterable<TurnEvents>): Promise<readonly TurnEvents[]> {
  const batches: TurnEvents[] = [];
  for await (const batch of events) {
    batches.push(batch);
    if (batch.events.some(({ event }) => event.type === 'done')) break;
  }
  return batches;
}

/** Every call of a session, from a node to a session of another node. */
async function converse(
  t: ExecutionContext,
  versions: { readonly caller?: WireVersion; readonly owner?: WireVersion },
): Promise<void> {
  const { sessions, sessionId, reference, messages } = await startSession(t, versions);
  const { scope } = bench;
  const { caller } = bench.owner;
  const within = { deadlineMs: 60_000 };
  const opened = await sessions.open(caller, {
    agentId: agent.id,
    consumerKey: 'ada',
    metadata: { source: 'a test' },
    channel: 'chat',
    startedBy: { kind: 'consumer', id: 'ada' },
  });
  t.deepEqual([opened.id, opened.agentId, opened.control.mode], [sessionId, agent.id, 'engaged']);
  t.true(Math.abs(opened.createdAt.getTime() - Date.now()) < 60_000);

  const watched = sessions.watch(scope, sessionId);
  const seen = watched.next();
  const wanted = wantedTurn(sessionId);
  const batches = await readTurn(await sessions.begin(wanted, 'a follower'));
  const events = batches.flatMap((batch) => batch.events.map(({ event }) => event));
  t.deepEqual(events[0], {
    type: 'metadata',
    accepted_fields: ['message', 'context'],
    ignored_fields: [{ field: 'x', reason: 'unknown_field' }],
    session_id: sessionId,
    execution_id: wanted.executionId,
  });
  const text = events.flatMap((event) => (event.type === 'delta' ? [event.content] : [])).join('');
  t.true(text.includes('good morning, everybody'), text);
  t.deepEqual(
    events.flatMap((event) => (event.type === 'response' ? [event.content] : [])),
    [text],
  );
  t.deepEqual(events.at(-1), {
    type: 'done',
    outcome: 'COMPLETED',
    session_id: sessionId,
    execution_id: wanted.executionId,
  });
  t.true(batches.some(({ deadlineInMs }) => deadlineInMs > 50_000));
  t.is((await seen).value?.executionId, wanted.executionId);
  // While a monitor watches, the events of a finished turn stay in memory.
  const again = await readTurn(sessions.follow(scope, sessionId, wanted.executionId, 0, 'a follower'));
  t.deepEqual(
    again.flatMap((batch) => batch.events.map(({ event }) => event)),
    events,
  );
  watched.cancel();
  // A repeat of the turn, which has ended.
  await sessions.accept(wanted);
  const [unknown] = await readTurn(sessions.follow(scope, sessionId, randomUUID(), 0, 'a follower'));
  t.true(unknown?.elsewhere);

  const author = { kind: 'consumer', id: 'somebody else' } as const;
  const foreign = wantedTurn(sessionId, { ownSessionsOnly: true, input: { ...wanted.input, author } });
  await t.throwsAsync(sessions.accept(foreign), { code: 'not_found' });
  await t.throwsAsync(sessions.begin(foreign, 'a follower'), { code: 'not_found' });
  const misled = wantedTurn(sessionId, { agentId: randomUUID() });
  await t.throwsAsync(sessions.accept(misled), { code: 'conflict' });

  const { control } = await sessions.control(caller, sessionId, {
    kind: 'handoff',
    reason: '',
    expiresInSeconds: 600,
  });
  const { since, expiresAt, ...rest } = control;
  t.deepEqual(rest, { mode: 'manual_handoff', kind: 'handoff', reason: '', by: rest.by });
  t.truthy(since);
  const lacksExpiry = [versions.caller, versions.owner].some((version) => version?.name.includes('earlier'));
  if (lacksExpiry) t.is(expiresAt, null);
  else t.is((expiresAt?.getTime() ?? 0) - (since?.getTime() ?? 0), 600_000);

  t.is(await sessions.cancel(scope, sessionId, 'a test'), undefined);
  const message = {
    id: randomUUID(),
    content: 'A person takes over.',
    metadata: { manual: true },
    mustBeHandedOff: true,
    writtenBy: 'a test',
    author: { kind: 'user', id: randomUUID() },
  } as const;
  const createdAt = await sessions.append(scope, sessionId, message);
  t.deepEqual(await sessions.append(scope, sessionId, message), createdAt, 'a repeat');

  await reference.passed({ follower: 'a follower', barrier: 1 }, within);
  await reference.rename({ consumerDisplayName: 'Augusta' }, within);
  t.deepEqual(await reference.work({}, within), { ended: 0 });
  t.deepEqual(await reference.erase({ by: 'a test' }, within), { erased: true });
  const [version] = [versions.caller, versions.owner].flatMap((one) => one ?? []);
  t.deepEqual(new Set([...messages].filter((type) => version?.used.has(type) !== true)), new Set());
}

test('a node of an earlier version calls a session of this one', (t) =>
  converse(t, { caller: earlierVersion(newFields) }));

test('this version calls a session of an earlier one', (t) =>
  converse(t, { owner: earlierVersion(newFields) }));

test('a node of a later version calls a session of this one', (t) => converse(t, { caller: laterVersion() }));

test('this version calls a session of a later one', (t) => converse(t, { owner: laterVersion() }));

test('the detail of a refusal is understood across versions', (t) => {
  const refusal = { details: { limit: 32 }, retryAfterSeconds: 5 };
  const bytes = Buffer.from(refusalToWire(refusal), 'base64');
  t.deepEqual(RefusalDetail.decode(bytes), refusal);
  const type = 'troupe.actors.v1.RefusalDetail';
  const read = (sent: Uint8Array): object => refusalFromWire(Buffer.from(sent).toString('base64'));
  const later = laterVersion().sent(type, bytes);
  t.true(later.length > bytes.length);
  t.deepEqual(read(later), refusal);
  t.deepEqual(read(laterVersion().understood(type, bytes)), refusal);
  const { details } = refusal;
  t.deepEqual(read(earlierVersion(newFields).sent(type, bytes)), { details });
});
