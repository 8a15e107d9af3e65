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

export class ResponseCache {
  readonly #store: AnswerStore;
  /** Calls under way, by key; a flight without an answer ends with undefined. */
  readonly #flights = new Map<string, Promise<CachedAnswer | undefined>>();

  constructor(store: AnswerStore) {
    this.#store = store;
  }

  /** The kept answer, that of an identical call under way, or that of `call`. */
  async serve(key: string, signal: AbortSignal, call: () => RunningCall): Promise<RunningCall> {
    for (let flight = this.#flights.get(key); flight !== undefined; flight = this.#flights.get(key)) {
      const answer = await unlessGone(flight, signal);
      if (answer !== undefined) return replayed(answer);
      if (signal.aborted) return nothing();
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
      landing(undefined);
      throw error;
    }
  }

  #takeOff(key: string): (answer: CachedAnswer | undefined) => void {
    let land: (answer: CachedAnswer | undefined) => void = () => undefined;
    this.#flights.set(
      key,
      new Promise((resolve) => {
        land = resolve;
      }),
    );
    return (answer) => {
      this.#flights.delete(key);
      land(answer);
    };
  }

  async *#recorded(
    key: string,
    events: RunningCall['events'],
    landing: (answer: CachedAnswer | undefined) => void,
  ): RunningCall['events'] {
    let text = '';
    let answer: CachedAnswer | undefined;
    try {
      for (;;) {
        const step = await events.next();
        if (step.done === true) {
          const call = step.value;
          if (call !== undefined && isWhole(call)) {
            answer = { text, call: { ...call, usage: { ...call.usage, raw: null } } };
            await this.#store.set(key, answer);
          }
          return call;
        }
        for (const event of step.value) if (event.type === 'content') text += event.text;
        yield step.value;
      }
    } finally {
      landing(answer);
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

/** Undefined also where the caller left. */
function unlessGone<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
