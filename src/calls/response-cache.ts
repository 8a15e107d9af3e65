/**
 * Answers that may be given again. The key holds the tenant, so nothing crosses tenants; of identical calls at the same
 * time one goes to the vendor and the others wait for its answer. Only whole answers are kept.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { LlmEvent } from '../llm/index.js';
import type { CallOrder } from './call-order.js';
import type { RunningCall, ServedCall } from './model-calls.js';

export interface CachedAnswer {
  readonly text: string;
  readonly call: ServedCall;
}

/** Where answers are kept: in this process, or where all nodes find them. */
export interface AnswerStore {
  get(key: string): Promise<CachedAnswer | undefined>;
  set(key: string, answer: CachedAnswer): Promise<void>;
}

const keptMs = 3_600_000;
const memoryBytesMax = 64 * 1024 * 1024;
const answerBytesMax = 1024 * 1024;

/** `nowMs` is a clock that only rises. */
export function answersInMemory(nowMs: () => number): AnswerStore {
  const answers = new LRUCache<string, CachedAnswer & { readonly keptUntilMs: number }>({
    maxSize: memoryBytesMax,
    maxEntrySize: answerBytesMax,
    sizeCalculation: ({ text }) => 1_000 + 2 * text.length,
  });
  return {
    get: (key) => {
      const found = answers.get(key);
      return Promise.resolve(found !== undefined && nowMs() < found.keptUntilMs ? found : undefined);
    },
    set: (key, answer) => {
      answers.set(key, { ...answer, keptUntilMs: nowMs() + keptMs });
      return Promise.resolve();
    },
  };
}

/** The call as a key. Whether it is streamed does not matter; where the service chooses the model, the plan does. */
export function answerKey({ scope, limits, model, provider, request }: CallOrder): string {
  const { stream: _stream, ...asked } = request;
  const named = model === 'auto' ? ['auto', limits.plan] : [model];
  // The requests of direct calls are put together in one order, so equal ones have equal texts.
  const canonical = JSON.stringify([scope.tenantId, named, provider ?? null, asked]);
  return createHash('sha256').update(canonical).digest('base64url');
}

/** How a call ended for those who wait for its answer: without one, or because its own caller left. */
type Landing = CachedAnswer | 'without' | 'left';

export class ResponseCache {
  readonly #store: AnswerStore;
  /** Calls under way, by key. */
  readonly #flights = new Map<string, Promise<Landing>>();

  constructor(store: AnswerStore) {
    this.#store = store;
  }

  /** The kept answer, that of an identical call under way, or that of `call`. */
  async serve(key: string, signal: AbortSignal, call: () => RunningCall): Promise<RunningCall> {
    for (let flight = this.#flights.get(key); flight !== undefined; flight = this.#flights.get(key)) {
      const landed = await unlessGone(flight, signal);
      if (landed === undefined) return nothing();
      // What one call did not get, the next may not get either: nobody stands in line for it a second time.
      if (landed === 'without') return call();
      if (landed !== 'left') return replayed(landed);
    }
    const landing = this.#takeOff(key);
    try {
      const kept = await this.#store.get(key);
      if (kept !== undefined) {
        landing(kept);
        return replayed(kept);
      }
      const running = call();
      // Who answers is known only while the call runs, so the object itself goes on.
      return Object.assign(running, { events: this.#recorded(key, running.events, landing) });
    } catch (error) {
      landing('without');
      throw error;
    }
  }

  #takeOff(key: string): (landed: Landing) => void {
    let land: (landed: Landing) => void = () => undefined;
    this.#flights.set(
      key,
      new Promise((resolve) => {
        land = resolve;
      }),
    );
    return (landed) => {
      this.#flights.delete(key);
      land(landed);
    };
  }

  async *#recorded(
    key: string,
    events: RunningCall['events'],
    landing: (landed: Landing) => void,
  ): RunningCall['events'] {
    let text = '';
    let landed: Landing = 'without';
    try {
      for (;;) {
        const step = await events.next();
        if (step.done === true) {
          const call = step.value;
          if (call === undefined) landed = 'left';
          else if (isWhole(call)) {
            landed = { text, call: { ...call, usage: { ...call.usage, raw: null } } };
            await this.#store.set(key, landed);
          }
          return call;
        }
        for (const event of step.value) if (event.type === 'content') text += event.text;
        yield step.value;
      }
    } finally {
      landing(landed);
    }
  }
}

function isWhole({ stop }: ServedCall): boolean {
  return stop === 'stop' || stop === 'stop_sequence';
}

function replayed({ text, call }: CachedAnswer): RunningCall {
  return {
    target: undefined,
    events: replay(text, { ...call, payer: undefined, cost: 0, latencyMs: 0, cached: true }),
  };
}

async function* replay(text: string, call: ServedCall): RunningCall['events'] {
  const pieces = text.match(/\s*\S+(?:\s+$)?|\s+$/g) ?? [];
  yield pieces.map((piece): LlmEvent => ({ type: 'content', text: piece }));
  return call;
}

function nothing(): RunningCall {
  return { target: undefined, events: none() };
}

async function* none(): RunningCall['events'] {
  yield [];
  return undefined;
}

/** Undefined where the caller left first. */
function unlessGone<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
