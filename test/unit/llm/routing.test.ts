import test from 'ava';
import {
  chooseModel,
  CircuitBreakers,
  Observations,
  planTargets,
  VendorError,
  type CatalogueModel,
  type Credential,
  type FailureClass,
  type LlmRequest,
  type TaskKind,
} from '../../../src/llm/index.js';
import { decideNext, type Failure } from '../../../src/llm/routing/retry-policy.js';
import { classifyTask } from '../../../src/llm/routing/classify-task.js';
import type { Circumstances } from '../../../src/llm/routing/choose-model.js';
import { ask, catalogue, credential } from '../../support/servers/vendors/call-harness.js';

const unseen = { firstSignalMs: undefined, failureRate: 0 };

function anywhere(more: Partial<Circumstances> = {}): Circumstances {
  return {
    tiers: ['economical', 'premium', 'flagship'],
    isAvailable: () => true,
    observed: () => unseen,
    ...more,
  };
}

function model(id: string): CatalogueModel {
  const found = catalogue.byId(id);
  if (found === undefined) throw new Error(id);
  return found;
}

test('the kind of a task is recognised by its words', (t) => {
  const kinds: readonly (readonly [string, TaskKind])[] = [
    ['Refactor this TypeScript function: ```ts\nconst a = 1;\n```', 'code'],
    ['Write a Python script that debugs my SQL', 'code'],
    ['Prove that the integral of x^2 is x^3/3; calculate 12 * 7', 'mathematics'],
    ['Compare the trade-offs and analyze the root cause step by step', 'reasoning'],
    ['Extract all named entities from this text as JSON', 'extraction'],
    ['Hello!', 'small_talk'],
    ['oi, how are you?', 'small_talk'],
    ['Tell me about Lisbon', 'general'],
    ['', 'general'],
  ];
  for (const [text, kind] of kinds) t.is(classifyTask(ask(text)).kind, kind, text);
});

test('auto routing stays within the tiers, explains itself, and spends more if the task requires it', (t) => {
  const economical = chooseModel(
    ask('Prove the theorem step by step'),
    catalogue.all,
    anywhere({ tiers: ['economical'] }),
  );
  t.true(economical?.chain.every(({ tier }) => tier === 'economical'));
  const chat = chooseModel(ask('Hello!'), catalogue.all, anywhere());
  const proof = chooseModel(
    ask('Prove the theorem and solve for x the equation step by step'),
    catalogue.all,
    anywhere(),
  );
  t.true((proof?.chain[0]?.quality ?? 0) > (chat?.chain[0]?.quality ?? 100));
  t.true(proof?.routing.is_auto_routed);
  t.is(proof?.routing.model_chosen, proof?.chain[0]?.id);
  t.true((proof?.routing.confidence ?? 0) > 0.5 && (proof?.routing.confidence ?? 2) < 1);
  t.regex(proof?.routing.reason ?? '', /mathematics task of about \d+ prompt tokens/);
});

test('auto routing looks at window, capabilities, keys, failures and speed', (t) => {
  const long: LlmRequest = ask('word '.repeat(1_200_000));
  const huge = chooseModel(long, catalogue.all, anywhere());
  t.true(huge?.chain.every(({ contextWindow }) => contextWindow > 1_500_000));
  const picture: LlmRequest = {
    messages: [
      { role: 'user', content: [{ type: 'image', source: { kind: 'url', url: 'https://x/y.png' } }] },
    ],
    stream: true,
  };
  t.true(
    chooseModel(picture, catalogue.all, anywhere())?.chain.every(({ capabilities }) =>
      capabilities.has('vision'),
    ),
  );
  const onlyXai = anywhere({ isAvailable: ({ vendor }) => vendor === 'xai' });
  t.is(chooseModel(ask('hi'), catalogue.all, onlyXai)?.chain[0]?.vendor, 'xai');
  const usual = chooseModel(ask('Tell me about Lisbon'), catalogue.all, anywhere())?.chain[0]?.id;
  const failing = anywhere({
    observed: (id) => (id === usual ? { firstSignalMs: 500, failureRate: 0.8 } : unseen),
  });
  t.not(chooseModel(ask('Tell me about Lisbon'), catalogue.all, failing)?.chain[0]?.id, usual);
  const slow = anywhere({
    observed: (id) => (id === usual ? { firstSignalMs: 9000, failureRate: 0 } : unseen),
  });
  t.not(chooseModel(ask('Tell me about Lisbon'), catalogue.all, slow)?.chain[0]?.id, usual);
  t.is(chooseModel(ask('hi'), catalogue.all, anywhere({ isAvailable: () => false })), undefined);
});

test('the sim vendor answers auto only if there is no other', (t) => {
  t.not(chooseModel(ask('hi'), catalogue.all, anywhere())?.chain[0]?.vendor, 'sim');
  const alone = anywhere({ isAvailable: ({ vendor }) => vendor === 'sim' });
  t.is(chooseModel(ask('hi'), catalogue.all, alone)?.chain[0]?.vendor, 'sim');
});

test('a chain survives the loss of its first vendor', (t) => {
  const vendors = chooseModel(ask('hi'), catalogue.all, anywhere())?.chain.map(({ vendor }) => vendor) ?? [];
  t.not(vendors[0], vendors[1]);
});

test('a decision takes less than a millisecond', (t) => {
  const request = ask('Refactor this function and prove that it ends. '.repeat(200));
  // CPU time of the best of many short rounds, because other work on the machine only makes rounds slower.
  const decisions = 10;
  let best = Infinity;
  for (let round = 0; round < 60 && best >= 1_000; round += 1) {
    const before = process.cpuUsage();
    for (let made = 0; made < decisions; made += 1) chooseModel(request, catalogue.all, anywhere());
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / decisions);
  }
  t.true(best < 1_000, `${best} µs of CPU time`);
});

test('observations expire', (t) => {
  const seen = new Observations();
  for (let at = 0; at < 20; at += 1) seen.record('m', at, { failed: true, firstSignalMs: 100 });
  t.true(seen.of('m', 20).failureRate > 0.9);
  t.true(seen.of('m', 20 + 300_000).failureRate < 0.05);
  t.is(seen.of('m', 20).firstSignalMs, 100);
  t.deepEqual(seen.of('other', 0), unseen);
});

test('a breaker opens after consecutive failures, per credential, lets one probe through, and closes on its success', (t) => {
  const breakers = new CircuitBreakers();
  for (let at = 0; at < 4; at += 1) breakers.failed('v', 'a', at);
  t.true(breakers.admits('v', 'a', 4));
  breakers.failed('v', 'a', 5);
  t.false(breakers.admits('v', 'a', 6));
  t.true(breakers.isOpen('v', 'a', 6));
  t.true(breakers.admits('v', 'b', 6));
  t.true(breakers.admits('v', 'a', 10_006));
  t.false(breakers.admits('v', 'a', 10_007), 'one probe at a time');
  breakers.failed('v', 'a', 10_008);
  t.false(breakers.admits('v', 'a', 20_009), 'twice as long now');
  t.true(breakers.admits('v', 'a', 30_009));
  breakers.abstained('v', 'a');
  t.true(breakers.admits('v', 'a', 30_010));
  breakers.succeeded('v', 'a');
  t.true(breakers.admits('v', 'a', 30_011));
  t.true(breakers.admits('v', 'a', 30_012));
  for (let at = 0; at < 5; at += 1) breakers.failed('w', 'a', at * 70_000);
  t.true(breakers.admits('w', 'a', 300_000), 'far apart is not in a row');
});

test('calls that fail while a breaker is open do not lengthen its time', (t) => {
  const breakers = new CircuitBreakers();
  for (let at = 0; at < 12; at += 1) breakers.failed('v', 'a', at);
  t.false(breakers.admits('v', 'a', 10_003));
  t.true(breakers.admits('v', 'a', 10_004), '10 s after the fifth');
  for (let at = 10_005; at < 10_010; at += 1) breakers.failed('v', 'a', at);
  t.false(breakers.admits('v', 'a', 30_004));
  t.true(breakers.admits('v', 'a', 30_005), '20 s after the failed probe');
});

const keyA = credential('openai', 'http://x');
const keyB = credential('openai', 'http://x', { id: 'b' });
const targets = [
  { model: model('openai.gpt-4o-mini'), credential: keyA },
  { model: model('openai.gpt-4o-mini'), credential: keyB },
  { model: model('openai.gpt-4.1'), credential: keyA },
];

function decide(
  failure: FailureClass,
  more: Partial<Failure> & { error?: never } = {},
  context = {},
): unknown {
  return decideNext({
    error: new VendorError(failure, 'x', { vendor: 'openai', ...context }),
    targets,
    index: 0,
    retriesHere: 0,
    clockRetries: 0,
    attempts: 1,
    signalled: false,
    mayEnlarge: false,
    remainingMs: 60_000,
    isOpen: () => false,
    chance: 0,
    ...more,
  });
}

test('the next step after a failure depends on its class', (t) => {
  const stop = { kind: 'stop' };
  t.deepEqual(decide('credential'), { kind: 'switch', index: 1 });
  t.deepEqual(decide('exhausted'), { kind: 'switch', index: 1 });
  t.deepEqual(decide('credential', { index: 1 }), stop);
  const leftOut = { isOpen: () => true };
  t.deepEqual(decide('credential', leftOut), { kind: 'switch', index: 1 }, 'there is nobody else to ask');
  t.deepEqual(decide('unavailable', leftOut), stop);
  t.deepEqual(decide('model_refused'), { kind: 'switch', index: 1 }, 'another key may use the model');
  t.deepEqual(
    decide('model_refused', { index: 1 }),
    { kind: 'switch', index: 2 },
    'and this key another one',
  );
  t.deepEqual(decide('model_refused', { index: 2 }), stop);
  t.deepEqual(decide('rate'), { kind: 'switch', index: 1 });
  t.deepEqual(decide('rate', { index: 1 }), { kind: 'switch', index: 2 });
  t.deepEqual(decide('rate', { index: 2 }, { retryAfterMs: 700 }), { kind: 'retry', afterMs: 700 });
  t.deepEqual(decide('rate', { index: 2 }, { neverRetry: true }), stop);
  t.deepEqual(decide('rate', { index: 2, retriesHere: 2 }), stop);
  t.deepEqual(decide('overload'), { kind: 'switch', index: 2 }, 'the next model');
  t.deepEqual(decide('overload', {}, { retryAfterMs: 5000 }), { kind: 'switch', index: 2 });
  const alone = { targets: targets.slice(0, 2) };
  t.deepEqual(decide('overload', alone), { kind: 'retry', afterMs: 50 });
  t.deepEqual(decide('overload', { ...alone, retriesHere: 1 }), { kind: 'switch', index: 1 });
  // The other key is asked rather than waited for, however long the vendor asks to wait.
  for (const retryAfterMs of [5_000, 60_000])
    t.deepEqual(decide('overload', alone, { retryAfterMs }), { kind: 'switch', index: 1 });
  const [own, platform] = [keyA, keyB].map((key, at) => ({
    model: model(at === 0 ? 'openai.gpt-4o-mini' : 'openai.gpt-4.1'),
    credential: { ...key, payer: at === 0 ? ('tenant' as const) : ('platform' as const) },
  }));
  const payers = { targets: [own!, platform!] };
  t.deepEqual(decide('overload', payers), { kind: 'retry', afterMs: 50 }, "before the platform's quota pays");
  t.deepEqual(decide('overload', { ...payers, retriesHere: 1 }), { kind: 'switch', index: 1 });
  t.deepEqual(
    decide('overload', { index: 2 }),
    { kind: 'retry', afterMs: 50 },
    'there is nobody else to ask',
  );
  t.deepEqual(decide('overload', { index: 2 }, { retryAfterMs: 5000 }), { kind: 'retry', afterMs: 5000 });
  t.deepEqual(decide('overload', {}, { neverRetry: true }), { kind: 'switch', index: 2 });
  t.deepEqual(decide('overload', alone, { neverRetry: true }), { kind: 'switch', index: 1 });
  t.deepEqual(decide('transport', { index: 2, retriesHere: 1 }), stop);
  t.deepEqual(decide('nonsense', { retriesHere: 1, isOpen: ({ credential: { id } }) => id === 'b' }), {
    kind: 'switch',
    index: 2,
  });
  for (const failure of ['request', 'policy', 'cancelled'] as const) t.deepEqual(decide(failure), stop);
  t.deepEqual(decide('context_overflow'), stop);
  t.deepEqual(decide('context_overflow', { mayEnlarge: true }), { kind: 'switch', index: 2 });
  t.deepEqual(decide('timeout', {}, { clock: 'first_signal' }), { kind: 'retry', afterMs: 0 });
  t.deepEqual(decide('timeout', { clockRetries: 1 }, { clock: 'first_signal' }), stop);
  t.deepEqual(decide('timeout', {}, { clock: 'idle' }), stop);
  t.deepEqual(decide('timeout', {}, { clock: 'call' }), stop);
});

test('no attempt follows content, the deadline, too many attempts, or a wait beyond either', (t) => {
  const stop = { kind: 'stop' };
  for (const failure of ['overload', 'credential', 'rate', 'transport'] as const) {
    t.deepEqual(decide(failure, { signalled: true }), stop);
    t.deepEqual(decide(failure, { remainingMs: 0 }), stop);
    t.deepEqual(decide(failure, { attempts: 8 }), stop);
  }
  t.deepEqual(decide('rate', { index: 2, remainingMs: 500 }, { retryAfterMs: 700 }), stop);
  t.deepEqual(decide('rate', { index: 2 }, { retryAfterMs: 3_600_000 }), stop);
});

test("the tenant's own key comes first without tier limits, the platform's only if the plan allows", (t) => {
  const own = credential('openai', 'http://x', { id: 'own', payer: 'tenant' });
  const keyring = {
    tenant: (vendor: string): Credential | undefined => (vendor === 'openai' ? own : undefined),
    platform: (): readonly Credential[] => [keyA],
  };
  const chain = [model('openai.gpt-5.6-sol'), model('anthropic.claude-haiku-4-5')];
  const plan = planTargets(chain, keyring, ({ tier }) => tier === 'economical');
  t.deepEqual(
    plan.targets.map(({ model: { id }, credential: { payer } }) => [id, payer]),
    [
      ['openai.gpt-5.6-sol', 'tenant'],
      ['anthropic.claude-haiku-4-5', 'platform'],
    ],
  );
  t.true(plan.tierBarred);
  t.false(planTargets(chain, keyring, () => true).tierBarred);
});
