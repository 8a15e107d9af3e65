/**
 * The response cache. The key includes the tenant, so no answer crosses tenants. Of identical concurrent calls one goes
 * to the vendor and the others wait for its answer. Only complete answers are kept.
 */
import { createHash } from 'node:crypto';
import type { Time } from '../../../cluster/index.js';
import { isReady } from '../../kernel/ready.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import type { Hear, LlmEvent } from '../../llm/index.js';
import type { AnswerStore } from './reply-store.js';
import type { CallOrder } from './call-order.js';
import { type Answer, keptUsage } from './stored-reply.js';
import type { CallStart, RunningCall, ServedCall } from './model-calls.js';

/**
 * The cache key of a call. Streaming does not matter. A name stands for the model that it means now: answers outlive a
 * restart with another alias. For an automatic choice of the model the plan and the models of the caller's API key are
 * parts of it. So the answer of a model that the caller may not use is not served.
 */
export function answerKey(
  { scope, limits, model, provider, request }: CallOrder,
  { allowedModels, first }: Pick<CallStart, 'allowedModels' | 'first'>,
): string {
  const { stream: _stream, ...asked } = request;
  const allowed = allowedModels === null ? [] : [[...allowedModels].sort()];
  const meant = modelMeantBy(limits, model);
  const named = meant === 'auto' ? ['auto', limits.plan, ...allowed] : [first?.id ?? meant, first?.name];
  // Direct calls build their requests in one field order, so equal requests have equal texts.
  const canonical = JSON.stringify([scope.tenantId, named, provider ?? null, asked]);
  return createHash('sha256').update(canonical).digest('base64url');
}

/** How long the calls that wait for an answer also wait for its reader, altogether. */
export const readingMsMax = 5_000;

/**
 * How a call ended for the calls that wait for its answer: with it, without it, or because its own caller left or reads too
 * slowly.
 */
type Landing = Answer | 'without' | 'left';

export class ResponseCache {
  readonly #store: AnswerStore;
  readonly #time: Time;
  readonly #onMiss: () => void;
  /** Running calls, by key. */
  readonly #flights = new Map<string, Promise<Landing>>();

  constructor(store: AnswerStore, time: Time, onMiss: () => void = () => undefined) {
    this.#store = store;
    this.#time = time;
    this.#onMiss = onMiss;
  }

  /** Returns the cached answer, that of an identical running call, or that of `ask`. `onHit` is called for the first two. */
  async serve(
    key: string,
    signal: LeaveSignal,
    ask: () => RunningCall,
    onHit: (answer: Answer) => Promise<void>,
  ): Promise<RunningCall> {
    const call = (): RunningCall => {
      this.#onMiss();
      return ask();
    };
    for (let flight = this.#flights.get(key); flight !== undefined; flight = this.#flights.get(key)) {
      const landed = await unlessGone(flight, signal);
      if (landed === undefined) return nothing();
      // A call that waited once without getting an answer calls the vendor itself: the next might fail too.
      if (landed === 'without') return call();
      if (landed !== 'left') return replayed(landed, onHit);
    }
    const land = this.#takeOff(key);
    try {
      const found = await this.#store.getOrTurn(key);
      if (typeof found !== 'function') {
        land(found);
        return replayed(found, onHit);
      }
      const reading = new Reading(this.#time, () => land('left'));
      const landed = (landing: Landing): void => {
        found(typeof landing === 'string' ? undefined : landing);
        land(landing);
      };
      if (signal.aborted) {
        landed('left');
        return nothing();
      }
      const running = call();
      const run = running.run.bind(running);
      // `target` changes while the call runs, so the object itself is returned.
      return Object.assign(running, { run: (hear: Hear) => recorded(run, reading.of(hear), landed) });
    } catch (error) {
      land('without');
      throw error;
    }
  }

  #takeOff(key: string): (landed: Landing) => void {
    let land: (landed: Landing) => void = () => undefined;
    const flight = new Promise<Landing>((resolve) => {
      land = resolve;
    });
    this.#flights.set(key, flight);
    return (landed) => {
      // A call whose reader was too slow lands twice; another has its place by then.
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
      land(landed);
    };
  }
}

/**
 * Calls that wait for the answer of another wait for the vendor, and only so long for the other's reader: a vendor's
 * answer comes no faster than it is read.
 */
class Reading {
  readonly #time: Time;
  readonly #tooSlow: () => void;
  #leftMs = readingMsMax;

  constructor(time: Time, tooSlow: () => void) {
    this.#time = time;
    this.#tooSlow = tooSlow;
  }

  of(hear: Hear): Hear {
    return (events) => {
      const heard = hear(events);
      return isReady(heard) ? heard : this.#bounded(heard);
    };
  }

  async #bounded(heard: Promise<void>): Promise<void> {
    const sinceMs = this.#time.monotonicMs();
    const timer = this.#time.after(this.#leftMs, this.#tooSlow);
    try {
      await heard;
    } finally {
      timer.cancel();
      this.#leftMs = Math.max(0, this.#leftMs - (this.#time.monotonicMs() - sinceMs));
    }
  }
}

async function recorded(
  call: RunningCall['run'],
  hear: Hear,
  land: (landing: Landing) => void,
): Promise<ServedCall | undefined> {
  let text = '';
  let landing: Landing = 'without';
  try {
    const served = await call((events) => {
      for (const event of events) if (event.type === 'content') text += event.text;
      return hear(events);
    });
    landing = served === undefined ? 'left' : (answerOf(text, served) ?? 'without');
    return served;
  } finally {
    land(landing);
  }
}

/** Undefined unless the model ended the answer by itself: a truncated answer is not cached. */
function answerOf(text: string, { stop, model, vendor, usage, routing }: ServedCall): Answer | undefined {
  if (stop !== 'stop' && stop !== 'stop_sequence') return undefined;
  return { text, model, vendor, stop, usage: keptUsage(usage), routing };
}

function replayed(answer: Answer, onHit: (answer: Answer) => Promise<void>): RunningCall {
  const { text, usage, routing, model, vendor, stop } = answer;
  const call: ServedCall = {
    model,
    vendor,
    stop,
    callId: '',
    usage: { ...usage, raw: null },
    routing,
    payer: undefined,
    cost: 0,
    latencyMs: 0,
    firstSignalMs: undefined,
    cached: true,
  };
  return { target: undefined, run: (hear) => replay(text, call, onHit(answer), hear) };
}

async function replay(
  text: string,
  call: ServedCall,
  recorded: Promise<void>,
  hear: Hear,
): Promise<ServedCall> {
  const pieces = text.match(/\s*\S+(?:\s+$)?|\s+$/g) ?? [];
  await hear(pieces.map((piece): LlmEvent => ({ type: 'content', text: piece })));
  await recorded;
  return call;
}

function nothing(): RunningCall {
  return { target: undefined, run: () => Promise.resolve(undefined) };
}

/** Undefined if the caller left first. */
function unlessGone<Value>(value: Promise<Value>, signal: LeaveSignal): Promise<Value | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener('abort', onAbort);
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
