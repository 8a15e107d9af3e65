/**
 * The storage of cached answers: a part of this process's memory, and behind it the values shared by all nodes, if
 * configured. Frequent answers come from memory; answers of other nodes come from the shared values.
 */
import { LRUCache } from 'lru-cache';
import { sleep, type Time } from '../../../cluster/index.js';
import type { Claim, SharedValues } from '../../infra/storage/index.js';
import { type Answer, type KeptAnswer, readKeptAnswer } from './stored-reply.js';

const keptMs = 3_600_000;
const memoryBytesMax = 64 * 1024 * 1024;
const answerBytesMax = 1024 * 1024;

const lookEveryMs = 50;

/** A new format needs a new prefix, so that nodes of two versions do not read each other's values. */
const prefix = 'troupe:answer:1:';

/** Ends this node's turn to ask the vendor. */
export type Turn = (answer: Answer | undefined) => void;

/** What all nodes share. */
export interface SharedAnswers {
  readonly values: SharedValues;
  /** A node waits this long for another node's answer to the same call, then asks the vendor itself. */
  readonly turnMsMax: number;
}

export interface AnswerStoreParts {
  readonly shared: SharedAnswers | undefined;
  readonly time: Time;
}

export class AnswerStore {
  readonly #shared: SharedAnswers | undefined;
  readonly #time: Time;
  readonly #near = new LRUCache<string, KeptAnswer>({
    maxSize: memoryBytesMax,
    maxEntrySize: answerBytesMax,
    sizeCalculation: ({ text }) => 1_000 + 2 * text.length,
  });

  constructor({ shared, time }: AnswerStoreParts) {
    this.#shared = shared;
    this.#time = time;
  }

  /** Returns the cached answer, or the turn to ask for one: of several nodes that want it, one at a time has the turn. */
  async getOrTurn(key: string): Promise<KeptAnswer | Turn> {
    const near = this.#fresh(this.#near.get(key));
    if (near !== undefined) return near;
    if (this.#shared === undefined) return (answer) => void this.#keep(key, answer);
    const { values: shared, turnMsMax } = this.#shared;
    const endMs = this.#time.monotonicMs() + turnMsMax;
    for (;;) {
      const far = await this.#far(shared, key);
      if (far !== undefined) return far;
      const claim = await shared.claim(`${prefix}${key}:turn`, turnMsMax);
      if (claim !== undefined || this.#time.monotonicMs() >= endMs) {
        return (answer) => void this.#share(shared, key, answer, claim);
      }
      await sleep(this.#time, lookEveryMs);
    }
  }

  async #far(shared: SharedValues, key: string): Promise<KeptAnswer | undefined> {
    const text = await shared.get(prefix + key);
    const found = this.#fresh(text === undefined ? undefined : readKeptAnswer(text));
    if (found !== undefined) this.#near.set(key, found);
    return found;
  }

  /** Ends the turn only after the answer is stored, so that the next node in the queue finds it. */
  async #share(
    shared: SharedValues,
    key: string,
    answer: Answer | undefined,
    claim: Claim | undefined,
  ): Promise<void> {
    const kept = this.#keep(key, answer);
    const text = kept === undefined ? '' : JSON.stringify(kept);
    if (text !== '' && text.length <= answerBytesMax) await shared.set(prefix + key, text, keptMs);
    await claim?.release();
  }

  #keep(key: string, answer: Answer | undefined): KeptAnswer | undefined {
    if (answer === undefined) return undefined;
    const kept = { ...answer, keptUntilMs: this.#time.wallMs() + keptMs };
    this.#near.set(key, kept);
    return kept;
  }

  #fresh(answer: KeptAnswer | undefined): KeptAnswer | undefined {
    if (answer === undefined) return undefined;
    const leftMs = answer.keptUntilMs - this.#time.wallMs();
    // A node whose clock is ahead must not extend the life of an answer.
    return leftMs > 0 && leftMs <= keptMs + clockSkewMsMax ? answer : undefined;
  }
}

const clockSkewMsMax = 60_000;
