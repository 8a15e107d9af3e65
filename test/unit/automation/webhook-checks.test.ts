import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { systemTime } from '../../../cluster/index.js';
import { systemIds } from '../../../src/infra/platform/index.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { type ErrorCode, PlatformError } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { createIntake, type IntakeParts } from '../../../src/automation/intake/create-intake.js';
import type { Admitted, CheckedMessage } from '../../../src/automation/intake/incoming-request.js';
import { alike, CheckList } from '../../../src/automation/intake/pipeline/check-list.js';
import { refused, Stop, stopAtFault, unreadable } from '../../../src/automation/intake/pipeline/stop.js';
import {
  type WebhookCheckName,
  type WebhookCheckParts,
  type WebhookChecks,
  webhookChecks,
} from '../../../src/automation/intake/pipeline/webhook-checks.js';
import { RepeatedMessages } from '../../../src/automation/intake/repeated-messages.js';
import { type DryRunParts, TriggerDryRun } from '../../../src/automation/management/dry-run.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';

/** Possible faults of a message, its trigger or its tenant. */
interface Faults {
  readonly unknown: boolean;
  readonly unsigned: boolean;
  readonly disabled: boolean;
  readonly unpublished: boolean;
  readonly refusedNames: boolean;
  readonly longKey: boolean;
  readonly repeated: boolean;
  readonly noSender: boolean;
  readonly notListed: boolean;
  readonly denied: boolean;
  readonly takenOver: boolean;
  readonly noText: boolean;
  readonly rateFull: boolean;
  readonly noTokens: boolean;
}

interface World extends Faults {
  readonly channel: boolean;
  readonly mode: 'sync' | 'async' | 'buffered';
}

const fine: World = {
  unknown: false,
  unsigned: false,
  disabled: false,
  unpublished: false,
  refusedNames: false,
  longKey: false,
  repeated: false,
  noSender: false,
  notListed: false,
  denied: false,
  takenOver: false,
  noText: false,
  rateFull: false,
  noTokens: false,
  channel: false,
  mode: 'async',
};

const scope = tenantScope(randomUUID());
const triggerId = randomUUID();
const firstAnswer = { status: 202, contentType: 'application/json', body: '{"first":true}' };

function triggerIn(world: World) {
  const parsed = parseTriggerConfig('webhook', {
    auth: { type: 'none' },
    ...(world.channel
      ? { channel: { type: 'twilio' } }
      : { session_strategy: { mode: 'derive', fields: ['From'] } }),
    sender_access: {
      mode: 'whitelist',
      identity_field: 'From',
      identifiers: [world.notListed ? '+4912' : '+49171'],
    },
    execution: {
      mode: world.mode === 'sync' ? 'sync' : 'async',
      callback: { url: 'https://receiver.example/' },
      message_buffer: { enabled: world.mode === 'buffered' },
    },
  });
  return {
    id: triggerId,
    scope,
    limits: limitsOf('free', {}),
    agentId: '00000000-0000-4000-8000-000000000001',
    enabled: !world.disabled,
    suspended: false,
    revision: 1,
    parsed,
    secrets: [],
    formerSecretUntilMs: 0,
  };
}

function payloadIn(world: World): unknown {
  const fields = {
    kind: 'message',
    ...(world.noSender ? {} : { From: '+49171' }),
    ...(world.channel ? { MessageSid: 'SM1' } : {}),
    ...(world.noText ? {} : world.channel ? { Body: 'hello' } : { message: 'hello' }),
  };
  // As an own field, which only a parser makes of this name.
  return world.refusedNames ? JSON.parse(`{"__proto__":1,${JSON.stringify(fields).slice(1)}`) : fields;
}

/** Everything that decides and acts, with the faults of this world. */
function partsIn(world: World) {
  const trigger = triggerIn(world);
  const found = world.unknown ? undefined : trigger;
  const accepted: string[] = [];
  const row = { answer: firstAnswer, state: 'done', expired: false, payload_hash: '' };
  const reads = {
    inTenant: async (_: unknown, { name }: { name: string }) =>
      name === 'trigger_inbox_by_key' && world.repeated ? [row] : [],
  };
  const store = { inTenant: async () => undefined };
  const repeats = new RepeatedMessages(store as never, reads as never, systemTime);
  const senderBlocks = { isDenied: () => world.denied, isTakenOver: async () => world.takenOver };
  const quota = {
    admitTenantWork: () => (world.rateFull ? { refusal: new PlatformError('rate_limit_exceeded') } : {}),
    monthlyRefusal: () => (world.noTokens ? new PlatformError('quota_exceeded') : undefined),
  };
  const deciding: unknown = {
    live: { get: () => found, fresh: async () => found },
    agents: { publishedAgent: () => (world.unpublished ? undefined : {}) },
    authentication: {
      authenticate: () => {
        if (world.unsigned) throw new PlatformError('invalid_signature');
      },
    },
    turns: {
      tokenRefusal: async () => new PlatformError('quota_exceeded', { message: 'No tokens are left.' }),
    },
    ids: systemIds,
    store,
    repeats,
    senderBlocks,
    quota,
  };
  const handling: unknown = {
    store,
    repeats,
    senderBlocks,
    quota,
    plainTexts: (_: unknown, text: string) => text,
    runner: {
      begin: () => undefined,
      run: async () => ({ outcome: 'COMPLETED', content: 'hi', totalTokens: 1, latencyMs: 1 }),
    },
    buffers: { flushOpen: () => undefined, touched: () => undefined },
    measures: {
      accepted: (type: string) => accepted.push(type),
      buffered: () => undefined,
      refused: () => undefined,
    },
  };
  return { trigger, deciding: deciding as WebhookCheckParts, handling, accepted };
}

interface Decision {
  readonly runs: boolean;
  /** The sender's answer instead of a run. */
  readonly answer?: unknown;
}

type Parts = ReturnType<typeof partsIn>;

async function webhookDecision(world: World, parts: Parts, checks: WebhookChecks): Promise<Decision> {
  const intake = createIntake({
    checks,
    rows: {
      // As the commit answers: a session that was taken over refuses the rows that ask.
      inbox: {
        write: async ({ asks }) => ({
          fate: asks && world.takenOver ? 'taken over' : 'accepted',
          buffered: 1,
          seq: 1,
        }),
      },
      reads: { inTenant: async () => [] },
      seal: { seal: () => Buffer.from('sealed') },
      ownKey: () => 'own',
    },
    handling: parts.handling as IntakeParts['handling'],
  });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(world.longKey ? { 'idempotency-key': 'k'.repeat(300) } : {}),
  };
  const body = Buffer.from(JSON.stringify(payloadIn(world)));
  try {
    const taken = await intake.take(triggerId, {
      body,
      headers,
      urls: () => [],
      address: '',
      requestId: 'r',
    });
    if (parts.accepted.length > 0) return { runs: true };
    const isJson = taken.contentType.startsWith('application/json');
    return { runs: false, answer: isJson ? (JSON.parse(taken.body) as unknown) : taken.body };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { runs: false, answer: error.message };
  }
}

async function dryDecision(world: World, checks: WebhookChecks): Promise<Decision> {
  const others: unknown = { triggers: { get: async () => ({ trigger_type: 'webhook' }) } };
  const dryRun = new TriggerDryRun({ ...(others as DryRunParts), checks });
  try {
    const tried = await dryRun.test(scope, triggerId, payloadIn(world));
    return tried.would_run ? { runs: true } : { runs: false, answer: tried.response_preview };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { runs: false, answer: error.message };
  }
}

async function bothIn(world: World, given?: (parts: Parts) => WebhookChecks) {
  const parts = partsIn(world);
  const checks = given?.(parts) ?? webhookChecks(parts.deciding);
  const dry = await dryDecision(world, checks);
  return { dry, webhook: await webhookDecision(world, parts, checks) };
}

/** How each check is made to stop a message; undefined for those that only read. */
const stops: Record<WebhookCheckName, Partial<World> | undefined> = {
  trigger: { unknown: true },
  authentication: { unsigned: true },
  enabled: { disabled: true },
  agent: { unpublished: true },
  payload: { refusedNames: true },
  messages: { channel: true, noSender: true },
  key: { longKey: true },
  repeat: { channel: true, repeated: true },
  context: undefined,
  session: { noSender: true },
  sender: undefined,
  sender_access: { notListed: true },
  denylist: { denied: true },
  text: { channel: true, noText: true },
  session_control: { takenOver: true },
  query: { noText: true },
  rate: { rateFull: true },
  tokens: { noTokens: true },
};

/** A dry run has no signature and no headers, and was itself admitted by the tenant's window. */
const onlyTaken: ReadonlySet<string> = new Set(['authentication', 'key', 'rate']);

test('the checks of webhooks and dry runs are one list, in the order of the specification', (t) => {
  const { request, message } = webhookChecks(partsIn(fine).deciding);
  t.deepEqual([...request.names, ...message.names], Object.keys(stops));
});

test('each check decides the same for the webhook and for the dry run', async (t) => {
  t.deepEqual(await bothIn(fine), { dry: { runs: true }, webhook: { runs: true } });
  for (const [name, fault] of Object.entries(stops)) {
    if (fault === undefined) continue;
    const { dry, webhook } = await bothIn({ ...fine, ...fault });
    t.false(webhook.runs, name);
    if (onlyTaken.has(name)) t.true(dry.runs, name);
    else t.deepEqual(dry, webhook, name);
  }
});

test('for every combination of faults the webhook and the dry run decide the same', async (t) => {
  const flag = fc.boolean();
  const often = fc.constantFrom(false, false, false, true);
  const worlds: fc.Arbitrary<World> = fc.record({
    unknown: fc.constant(false),
    unsigned: fc.constant(false),
    longKey: fc.constant(false),
    rateFull: fc.constant(false),
    disabled: often,
    unpublished: often,
    refusedNames: often,
    repeated: often,
    noSender: often,
    notListed: often,
    denied: often,
    takenOver: flag,
    noText: flag,
    noTokens: flag,
    channel: flag,
    mode: fc.constantFrom('sync', 'async', 'buffered'),
  });
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { dry, webhook } = await bothIn(world);
      t.deepEqual(dry, webhook, JSON.stringify(world));
    }),
    { numRuns: 600 },
  );
});

test('nothing outside of the lists decides, except the commit', async (t) => {
  const all: World = {
    ...fine,
    disabled: true,
    unpublished: true,
    notListed: true,
    denied: true,
    rateFull: true,
    noTokens: true,
  };
  const pass = <Known extends object>(known: Known) => ({
    names: [],
    take: async () => ({ stopped: undefined, known }),
    look: async () => ({ stopped: undefined, found: known, complete: known }),
  });
  const { dry, webhook } = await bothIn(all, ({ trigger }) => {
    const request = { body: Buffer.from('{}'), headers: {}, urls: () => [], address: '', requestId: 'r' };
    const { parsed } = trigger;
    if (parsed.type !== 'webhook') throw new TypeError('the trigger of this test is a webhook');
    const admitted: Admitted = {
      triggerId,
      request,
      trigger,
      config: parsed.config,
      sentWith: undefined,
      window: { figures: undefined },
    };
    const message: CheckedMessage = {
      ...admitted,
      payload: {},
      message: undefined,
      key: undefined,
      hash: '',
      sources: { context: {}, payload: {}, message: undefined },
      consumerKey: undefined,
      derivedSession: undefined,
      sessionId: randomUUID(),
      executionId: randomUUID(),
      sender: { allowed: false, userId: undefined },
      query: 'hello',
      given: [],
    };
    const passing: unknown = {
      request: pass({ ...admitted, payload: {}, messages: [undefined], more: false }),
      message: pass(message),
    };
    return passing as WebhookChecks;
  });
  t.deepEqual({ dry, webhook }, { dry: { runs: true }, webhook: { runs: true } });
});

test('a postponed guard is asked only if a later check stops the message, and then comes first', async (t) => {
  const asked: string[] = [];
  const stop = (name: string): Stop => {
    asked.push(name);
    return refused(new PlatformError('conflict', { message: name }));
  };
  const list = CheckList.of<{ readonly full: boolean }>()
    .postponed('gate', async () => stop('gate'))
    .guard(
      'late',
      alike(({ full }) => (full ? stop('late') : undefined)),
    );
  const taken = async (full: boolean) => (await list.take({ full })).stopped?.at;
  t.is(await taken(false), undefined);
  t.deepEqual(asked, []);
  t.is(await taken(true), 'gate');
  t.deepEqual(asked, ['late', 'gate']);
  t.is((await list.look({ full: false })).stopped?.at, 'gate');
});

test('a message is unreadable by its own fault, not by an error that passes with time', async (t) => {
  const stopAt = (code: ErrorCode) =>
    stopAtFault(unreadable, async (): Promise<object> => {
      throw new PlatformError(code);
    });
  t.true((await stopAt('no_message')) instanceof Stop);
  for (const code of ['rate_limit_exceeded', 'service_unavailable'] as const) {
    await t.throwsAsync(async () => stopAt(code), { instanceOf: PlatformError }, code);
  }
});
