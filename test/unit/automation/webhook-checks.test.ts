import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { type ErrorCode, PlatformError } from '../../../src/kernel/errors.js';
import type { Admitted, CheckedMessage } from '../../../src/automation/intake/incoming-request.js';
import { alike, CheckList } from '../../../src/automation/intake/pipeline/check-list.js';
import { refused, Stop, stopAtFault, unreadable } from '../../../src/automation/intake/pipeline/stop.js';
import {
  type WebhookCheckName,
  type WebhookChecks,
  webhookChecks,
} from '../../../src/automation/intake/pipeline/webhook-checks.js';
import { type DryRunParts, TriggerDryRun } from '../../../src/automation/management/dry-run.js';
import {
  type Decision,
  fine,
  type Parts,
  partsIn,
  payloadIn,
  scope,
  triggerId,
  webhookDecision,
  type World,
} from '../../support/builders/webhook-worlds.js';

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
  address: { addressFull: true },
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

/** A dry run has no address, no signature and no headers, and was itself admitted by the tenant's window. */
const onlyTaken: ReadonlySet<string> = new Set(['authentication', 'address', 'key', 'rate']);

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
    addressFull: fc.constant(false),
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
    signed: fc.constant(false),
    refusedOften: fc.constant(false),
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
      throw PlatformError.again(code, {});
    });
  t.true((await stopAt('no_message')) instanceof Stop);
  for (const code of ['rate_limit_exceeded', 'service_unavailable'] as const) {
    await t.throwsAsync(async () => stopAt(code), { instanceOf: PlatformError }, code);
  }
});
