import { sleep, type Time } from '../../../cluster/index.js';
import type { AttemptReport, Catalogue, Target, Usage } from '../../../src/llm/index.js';
import { zeroUsage } from '../../../src/llm/index.js';
import { CallLedger, type CallLedgerParts } from '../../../src/models/calls/call-ledger.js';
import type { CallOrder } from '../../../src/models/calls/call-order.js';
import type { RunningCall } from '../../../src/models/calls/index.js';
import type { SeededRandom } from '../../../cluster/simulation/virtual-time.js';

/** One request that the vendor received, and bills. */
export interface Billed {
  readonly attemptId: string;
  readonly executionId: string;
  /** By which process, for which start of the turn. */
  readonly process: string;
  readonly usage: Usage;
  /** Whether its answer went out whole. */
  answered: boolean;
}

export interface VendorCall {
  readonly order: CallOrder;
  readonly attemptId: string;
  readonly process: string;
}

/** The vendor of all simulated nodes: answers late, and bills each request that it received. */
export class SimulatedVendor {
  readonly bill: Billed[] = [];
  readonly #random: SeededRandom;
  #calls = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  receive({ order, attemptId, process }: VendorCall): Billed {
    const usage = {
      ...zeroUsage,
      inputUncached: this.#random.between(1, 60),
      outputVisible: this.#random.between(1, 20),
    };
    const billed = { attemptId, executionId: order.executionId ?? '', process, usage, answered: false };
    this.bill.push(billed);
    return billed;
  }

  /** Counted, not drawn, so that it changes no other choice of a run. */
  newCallId(): string {
    this.#calls += 1;
    return `call-${this.#calls}`;
  }

  takesMs(): number {
    return this.#random.between(40, this.#random.chance(0.1) ? 4_000 : 600);
  }
}

export interface ModelParts {
  readonly vendor: SimulatedVendor;
  readonly ledger: CallLedgerParts['ledger'];
  readonly target: Target;
  readonly time: Time;
  readonly process: string;
  /** Called when the request leaves. */
  readonly asked: (call: VendorCall) => void;
  readonly isUnrecorded: boolean;
}

/** One attempt of a call, with the platform's own ledger of calls around it, as `runCall` makes it. */
export function simulatedCall(order: CallOrder, parts: ModelParts): RunningCall {
  const { target } = parts;
  return { target, run: (hear) => runOnce(order, parts, hear) };
}

async function runOnce(
  order: CallOrder,
  parts: ModelParts,
  hear: Parameters<RunningCall['run']>[0],
): ReturnType<RunningCall['run']> {
  const { vendor, ledger, target, time, process } = parts;
  const callId = vendor.newCallId();
  const startedAtMs = time.monotonicMs();
  const start = {
    attemptId: `${callId}/1`,
    number: 1,
    target,
    payer: 'platform',
    request: order.request,
  } as const;
  const calls = new CallLedger(
    { ledger, quota: unlimited, time, processId: process },
    order,
    callId,
    startedAtMs,
    () => undefined,
  );
  await calls.beforeAttempt(start);
  const report = (outcome: AttemptReport['outcome'], usage: Usage): AttemptReport => ({
    ...start,
    outcome,
    usage,
    stop: outcome === 'completed' ? 'stop' : undefined,
    excerpt: '',
    error: undefined,
    vendorRequestId: undefined,
    startedAtMs,
    firstSignalMs: undefined,
    durationMs: time.monotonicMs() - startedAtMs,
  });
  if (order.signal.aborted || order.mayBegin?.() === false) {
    await calls.afterAttempt(report('cancelled', zeroUsage));
    return undefined;
  }
  const call = { order, attemptId: start.attemptId, process };
  parts.asked(call);
  const billed = vendor.receive(call);
  await untilAnswered(time, vendor.takesMs(), order.signal);
  if (order.signal.aborted) {
    await calls.afterAttempt(report('cancelled', billed.usage));
    return undefined;
  }
  billed.answered = true;
  for (const events of answerTo(order)) await hear(events);
  // A planted bug: what the vendor bills is recorded only in part.
  const recorded = parts.isUnrecorded ? { ...billed.usage, outputVisible: 0 } : billed.usage;
  await calls.afterAttempt(report('completed', recorded));
  return {
    callId,
    model: target.model.id,
    vendor: target.model.vendor,
    payer: 'platform',
    stop: 'stop',
    cached: false,
    usage: billed.usage,
    cost: 0,
    latencyMs: time.monotonicMs() - startedAtMs,
    firstSignalMs: undefined,
    routing: undefined,
  };
}

const unlimited = {
  reserveTokens: () => undefined,
  settleTokens: () => undefined,
  reserveCost: () => Promise.reject(new Error('the simulated load has no budgets')),
  settleCost: () => undefined,
};

async function untilAnswered(time: Time, takesMs: number, signal: CallOrder['signal']): Promise<void> {
  let left: () => void = () => undefined;
  const leaving = new Promise<void>((resolve) => (left = resolve));
  signal.addEventListener('abort', left);
  await Promise.race([sleep(time, takesMs), leaving]);
  signal.removeEventListener('abort', left);
}

type Events = Parameters<Parameters<RunningCall['run']>[0]>[0];

/** The user's message names the tools of each round; after the last one comes the text, made of their results. */
function answerTo({ request: { messages } }: CallOrder): readonly Events[] {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const asked = messages[at];
  const text =
    asked?.role === 'user'
      ? asked.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      : '';
  const rounds = toolsIn(text);
  const round = messages.slice(at).filter(({ role }) => role === 'assistant').length;
  const tool = rounds[round];
  if (tool !== undefined) {
    const call = { index: 0, id: `call-${round}`, name: tool };
    return [
      [
        { type: 'tool_call_start', ...call },
        { type: 'tool_call_arguments', index: 0, text: JSON.stringify({ round }) },
        { type: 'tool_call_end', index: 0 },
      ],
    ];
  }
  const results = messages
    .slice(at)
    .flatMap((message) =>
      message.role === 'tool' ? message.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
    );
  return [
    [{ type: 'content', text: 'done: ' }],
    [{ type: 'content', text: results.length === 0 ? 'nothing' : results.join(' | ') }],
  ];
}

const toolNames = ['book', 'look'] as const;

export function messageFor(id: string, tools: readonly (typeof toolNames)[number][]): string {
  return `do ${id}: ${tools.join(' ')}`;
}

function toolsIn(text: string): readonly string[] {
  return (text.split(': ').at(-1) ?? '').split(' ').filter((word) => toolNames.some((name) => name === word));
}

/** A model whose tokens cost money. */
export function pricedTarget(catalogue: Catalogue): Target {
  const model = catalogue.byId('openai.gpt-4.1-mini');
  if (model === undefined) throw new Error('the catalogue has no model of that name');
  const credential = {
    id: 'simulated',
    vendor: model.vendor,
    payer: 'platform',
    baseUrl: '',
    reveal: () => undefined,
  } as const;
  return { model, credential };
}
