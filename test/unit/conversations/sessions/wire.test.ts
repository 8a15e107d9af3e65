// Messages about sessions between nodes: each value survives its message and its bytes.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import {
  AppendRequest,
  AppendResponse,
  ControlRequest,
  ControlResponse,
  FollowResponse,
  OpenRequest,
  OpenResponse,
  RunRequest,
  RunResponse,
  WatchResponse,
} from '../../../../generated/troupe/actors/v1/session.js';
import {
  type Author,
  authorKinds,
  doneEvent,
  outcomes,
  phases,
  type StreamEvent,
  timeoutClocks,
} from '../../../../src/conversations/invocation/index.js';
import type {
  AppendedMessage,
  OpenedSession,
  RequestedControl,
  RequestedInput,
  RequestedTurn,
  SessionOverview,
  TurnEvents,
} from '../../../../src/conversations/sessions/requests.js';
import type { LoggedEvent } from '../../../../src/conversations/sessions/turn-log.js';
import { asActorError, asPlatformError } from '../../../../src/conversations/sessions/refusals.js';
import {
  appendedFromWire,
  appendFromWire,
  appendToWire,
  controlFromWire,
  controlToWire,
  openFromWire,
  openToWire,
  overviewFromWire,
  overviewToWire,
} from '../../../../src/conversations/sessions/wire/session-requests.js';
import {
  turnEventsFromWire,
  turnEventsToWire,
  watchedEventsFromWire,
  watchedEventsToWire,
} from '../../../../src/conversations/sessions/wire/turn-events.js';
import { authorToWire } from '../../../../src/conversations/sessions/wire/authors.js';
import { turnFromWire, turnToWire } from '../../../../src/conversations/sessions/wire/turns.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import {
  amount,
  anyText,
  flatObject,
  moment,
  number,
  orNull,
  perhaps,
  smallAmount,
  survives,
  text,
  withNumber,
} from '../../../support/builders/arbitrary-values.js';

const author: fc.Arbitrary<Author> = fc.record({ kind: fc.constantFrom(...authorKinds), id: text });
const ignored = fc.record({ field: text, reason: text });

const attachment: fc.Arbitrary<NonNullable<RequestedInput['attachments']>[number]> = fc.record({
  id: text,
  type: fc.constantFrom('image', 'file'),
  media_type: text,
  name: orNull(text),
  bytes: smallAmount,
});
const schema = { type: 'object', properties: { b: { type: 'null' }, a: { enum: [1, 'x', null] } } };
const responseFormat = { type: 'json_schema' as const, json_schema: { name: 'a-b', schema, strict: true } };

const input: fc.Arbitrary<RequestedInput> = fc.record(
  {
    message: text,
    attachments: fc.array(attachment, { minLength: 1 }),
    response_format: fc.constant(responseFormat),
    author,
    declared_context: orNull(flatObject),
    accepted_fields: fc.array(text),
    ignored_fields: fc.array(ignored),
    quick_replies: fc.boolean(),
    role: fc.constantFrom('owner', 'admin', 'editor', 'member'),
    traceparent: text,
  },
  {
    requiredKeys: [
      'message',
      'declared_context',
      'accepted_fields',
      'ignored_fields',
      'quick_replies',
      'role',
    ],
  },
);

const turn: fc.Arbitrary<RequestedTurn> = fc.record({
  executionId: text,
  agentId: text,
  mustExist: fc.boolean(),
  ownSessionsOnly: fc.boolean(),
  channel: text,
  consumerKey: perhaps(text),
  consumerDisplayName: perhaps(text),
  sharesSession: fc.boolean(),
  nameInferred: fc.boolean(),
  input,
  context: flatObject,
  bindings: flatObject,
  metadata: flatObject,
  keyId: orNull(text),
  userId: orNull(text),
  triggerId: perhaps(text),
  deadlineMs: smallAmount,
});

test('a requested turn', (t) => {
  const toWire = (value: RequestedTurn): RunRequest => ({ turn: turnToWire(value), after: 0, follower: '' });
  survives(t, turn, RunRequest, toWire, (request) => turnFromWire(request.turn));
});

const ids = fc.record({ session_id: text, execution_id: text });
const block = fc.record({
  type: fc.constant('quick_replies' as const),
  data: fc.record({ labels: fc.array(text) }),
});

const events: { [Type in StreamEvent['type']]: fc.Arbitrary<Extract<StreamEvent, { type: Type }>> } = {
  metadata: fc.tuple(fc.array(text), fc.array(ignored), ids).map(([accepted_fields, ignored_fields, of]) => ({
    type: 'metadata',
    accepted_fields,
    ignored_fields,
    ...of,
  })),
  status: fc.record({
    type: fc.constant('status' as const),
    state: fc.constantFrom('queued', 'running', 'restarted'),
  }),
  phase: fc.record({ type: fc.constant('phase' as const), name: fc.constantFrom(...phases) }),
  tool: fc.record(
    {
      type: fc.constant('tool' as const),
      call_id: text,
      name: text,
      state: fc.constantFrom('started', 'finished', 'failed', 'timeout'),
      latency_ms: number,
    },
    { requiredKeys: ['type', 'call_id', 'name', 'state'] },
  ),
  approval: fc.record({
    type: fc.constant('approval' as const),
    approval_id: text,
    tool: text,
    arguments: flatObject,
  }),
  thinking: fc.record({ type: fc.constant('thinking' as const), content: anyText }),
  delta: fc.record({ type: fc.constant('delta' as const), content: anyText }),
  response: fc.record(
    {
      type: fc.constant('response' as const),
      content: text,
      blocks: fc.array(block, { minLength: 1 }),
      parsed: fc.constantFrom<unknown>({ a: [1, null, 'x'] }, null, 0, 'x'),
    },
    { requiredKeys: ['type', 'content'] },
  ),
  metrics: fc.record({
    type: fc.constant('metrics' as const),
    usage: fc.record({ input_tokens: amount, output_tokens: amount, total_tokens: amount }),
    cost: number,
    model: orNull(text),
    provider: orNull(text),
    latency_ms: amount,
    first_token_ms: orNull(amount),
    tool_calls: smallAmount,
  }),
  error: fc.record(
    {
      type: fc.constant('error' as const),
      code: text,
      message: text,
      details: flatObject,
      timed_out: fc.constant(true as const),
    },
    { requiredKeys: ['type', 'code', 'message'] },
  ),
  done: fc
    .tuple(ids, fc.constantFrom(...outcomes), perhaps(fc.constantFrom(...timeoutClocks)))
    .map((parts) => doneEvent(...parts)),
};
const event = fc.oneof(...Object.values<fc.Arbitrary<StreamEvent>>(events));
const logged: fc.Arbitrary<LoggedEvent> = fc.record({ id: amount, event });

const batch: fc.Arbitrary<TurnEvents> = fc.record({
  events: fc.array(logged),
  deadlineInMs: smallAmount,
  barrier: amount,
  elsewhere: fc.boolean(),
  after: amount,
});

test('events of a turn', (t) => {
  survives(t, batch, RunResponse, turnEventsToWire, turnEventsFromWire);
  survives(t, batch, FollowResponse, turnEventsToWire, turnEventsFromWire);
});

test('events for a monitor', (t) => {
  const watched = fc.record({ executionId: text, events: fc.array(logged) });
  survives(t, watched, WatchResponse, watchedEventsToWire, watchedEventsFromWire);
});

test('the opening of a session', (t) => {
  const opened: fc.Arbitrary<OpenedSession> = fc.record({
    agentId: text,
    consumerKey: perhaps(text),
    channel: text,
    metadata: flatObject,
    startedBy: orNull(author),
  });
  survives(t, opened, OpenRequest, openToWire, openFromWire);
});

test('a change of the control mode', (t) => {
  const control: fc.Arbitrary<RequestedControl> = fc.record({
    change: fc.constantFrom('engaged', 'suspend', 'handoff'),
    reason: perhaps(text),
    by: text,
    expiresInSeconds: perhaps(smallAmount),
    ifEpoch: perhaps(amount),
  });
  survives(t, control, ControlRequest, controlToWire, controlFromWire);
});

test('a session as its owner reports it', (t) => {
  const overview: fc.Arbitrary<SessionOverview> = fc.record({
    id: text,
    agentId: text,
    control: fc.record({
      mode: fc.constantFrom('engaged', 'manual_handoff'),
      kind: orNull(fc.constantFrom('suspend', 'handoff')),
      reason: orNull(text),
      by: orNull(text),
      since: orNull(moment),
      expiresAt: orNull(moment),
    }),
    createdAt: moment,
  });
  survives(t, overview, OpenResponse, overviewToWire, overviewFromWire);
  survives(t, overview, ControlResponse, overviewToWire, overviewFromWire);
});

test('a message that does not come from a turn', (t) => {
  const message: fc.Arbitrary<AppendedMessage> = fc.record({
    id: text,
    content: text,
    metadata: flatObject,
    mustBeHandedOff: fc.boolean(),
    writtenBy: text,
    author: orNull(author),
  });
  survives(t, message, AppendRequest, appendToWire, appendFromWire);
  survives(t, moment, AppendResponse, (createdAt) => ({ createdAt }), appendedFromWire);
});

test('a refusal, with its details and the time to wait', (t) => {
  const parts = fc.record(
    { details: flatObject, retryAfterSeconds: smallAmount, message: text.filter((words) => words !== '') },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(parts, (context) => {
      const refusal = new PlatformError('conflict', context);
      const read = asPlatformError(asActorError(refusal));
      t.true(read instanceof PlatformError);
      if (!(read instanceof PlatformError)) return;
      t.deepEqual(
        [read.code, read.message, read.details, read.retryAfterSeconds],
        [refusal.code, refusal.message, refusal.details, refusal.retryAfterSeconds],
      );
    }),
  );
});

const anyTurn = turnToWire({
  executionId: 'e',
  agentId: 'a',
  mustExist: false,
  ownSessionsOnly: false,
  channel: 'chat',
  consumerKey: undefined,
  consumerDisplayName: undefined,
  nameInferred: false,
  input: {
    message: 'Hello',
    author: { kind: 'key', id: 'k' },
    declared_context: null,
    accepted_fields: [],
    ignored_fields: [],
    quick_replies: false,
    role: 'owner',
  },
  context: {},
  bindings: {},
  metadata: {},
  keyId: null,
  userId: null,
  triggerId: undefined,
  deadlineMs: 1,
});

function refused(t: ExecutionContext, field: string, read: () => unknown): void {
  const error = t.throws(read, { name: 'UnreadableMessage', code: 'service_unavailable' });
  t.true(error?.message.includes(`cannot be read: ${field} `), error?.message);
}

test('a value that is not specified, and one of a later version, is refused by the name of its field', (t) => {
  const { input: given } = anyTurn;
  if (given === undefined) throw new Error('there is an input');
  const byKey = authorToWire({ kind: 'key', id: 'k' });
  for (const value of [0, 1_000]) {
    refused(t, 'TurnInput.role', () => turnFromWire({ ...anyTurn, input: withNumber(given, 'role', value) }));
    refused(t, 'Author.kind', () =>
      turnFromWire({ ...anyTurn, input: { ...given, author: withNumber(byKey, 'kind', value) } }),
    );
    const control = controlToWire({
      change: 'suspend',
      reason: undefined,
      by: '',
      expiresInSeconds: undefined,
      ifEpoch: undefined,
    });
    refused(t, 'ControlRequest.change', () => controlFromWire(withNumber(control, 'change', value)));
    const parts = { status: 'state', phase: 'name', tool: 'state', done: 'outcome' } as const;
    const samples: Readonly<Record<keyof typeof parts, fc.Arbitrary<StreamEvent>>> = events;
    for (const type of Object.keys(parts) as (keyof typeof parts)[]) {
      const [sample = t.fail()] = fc.sample(samples[type], 1);
      const part = turnEventsToWire({ ...noEvents, events: [{ id: 1, event: sample }] }).events[0]?.event;
      Object.assign(part?.value ?? t.fail(), { [parts[type]]: value });
      refused(t, `TurnEvent.${type}.${parts[type]}`, () =>
        turnEventsFromWire({ ...noEvents, events: [{ id: 1, event: part }] }),
      );
    }
  }
});

const noEvents = { events: [], deadlineInMs: 0, barrier: 0, elsewhere: false, after: 0 };

test('a message without a part that every version sends is refused by the name of the part', (t) => {
  refused(t, 'RunRequest.turn', () => turnFromWire(undefined));
  refused(t, 'Turn.input', () => turnFromWire({ ...anyTurn, input: undefined }));
  refused(t, 'TurnEvent.event', () =>
    turnEventsFromWire({ ...noEvents, events: [{ id: 1, event: undefined }] }),
  );
  refused(t, 'ControlResponse.session', () => overviewFromWire({ session: undefined }));
  refused(t, 'Turn.context', () => turnFromWire({ ...anyTurn, context: { nested: { a: 1 } } }));
});
