import type { ClusterConfig } from '../config.js';
import type { Time } from '../time/time.js';
import { answerWithin } from '../time/within.js';
import type { NewestGeneration, ViewNumbers } from './member-store.js';

export interface GenerationHost {
  /** A new generation may be followed: this process has no right to act yet, or still has the one from the old. */
  mayFollow(): boolean;
  /** Only workers name a generation. */
  mayName(): boolean;
  /** Most workers of the view renew in the generation that counted so far. */
  mostRenew(): boolean;
}

/** `unknown`: the durable store did not answer, and too few workers renew here. */
export type Verdict = 'counts' | 'outdated' | 'unknown';

/** The newest generation as the durable store knows it; `unknown` if the store did not answer in time. */
export type Newest = NewestGeneration | undefined | 'unknown';

/**
 * Whether renewals in a generation of the member store count. After a failover of Redis some processes may still use the
 * old master while the others use the promoted replica, and each side takes the other for dead. So each generation is
 * named in the durable store, and each renewal is compared with the newest there: as soon as one process has named the
 * replica's, renewals at the old master no longer count, and the processes there stop when their right to act runs out.
 * Nobody counts silence in a generation before it is named, so whoever is taken for gone in it has stopped by then.
 *
 * A generation that was outdated by another never counts again. If all processes are led back to it, for example after
 * one of them used a wrong server, and nobody can still act by the newest, it is replaced by a new one.
 *
 * If the durable store does not answer, renewals count while most workers of the view renew in the same generation.
 */
export class GenerationCheck {
  readonly #numbers: ViewNumbers;
  readonly #time: Time;
  readonly #config: ClusterConfig;
  readonly #host: GenerationHost;
  #counting: string | undefined;
  #abandoned: string | undefined;
  /** The store that answers is another than the one whose generation counted. */
  #isElsewhere = false;

  constructor(numbers: ViewNumbers, time: Time, config: ClusterConfig, host: GenerationHost) {
    this.#numbers = numbers;
    this.#time = time;
    this.#config = config;
    this.#host = host;
  }

  /**
   * Called with the start of a renewal, so that the right to act never outlasts the comparison. Never rejects. A
   * generation stays in use while its store does not answer, but not once another store answers in its place.
   */
  newest(): Promise<Newest> {
    return this.#ask(this.#numbers.newestGeneration(this.#isElsewhere ? undefined : this.#counting));
  }

  get counting(): string | undefined {
    return this.#counting;
  }

  /** The generation that the store is to replace by a new one. */
  get abandoned(): string | undefined {
    return this.#abandoned;
  }

  /** A poll counts in the generation in which renewals count. */
  isCounting(generation: string): boolean {
    return generation === this.#counting;
  }

  async judge(generation: string, asked: Promise<Newest>): Promise<Verdict> {
    let newest = await asked;
    if (newest === 'unknown') {
      return generation === this.#counting && this.#host.mostRenew() ? 'counts' : 'unknown';
    }
    if (generation !== newest?.generation && this.#host.mayName() && this.#host.mayFollow()) {
      newest = await this.#ask(this.#numbers.nameGeneration(generation));
    }
    if (newest === 'unknown') return 'unknown';
    if (generation !== newest?.generation) {
      const isUnused = newest !== undefined && newest.unusedMs >= this.#config.leaseActMs;
      this.#isElsewhere = true;
      this.#abandoned = isUnused && this.#host.mayName() ? generation : undefined;
      return 'outdated';
    }
    if (generation !== this.#counting && !this.#host.mayFollow()) return 'unknown';
    this.#counting = generation;
    this.#abandoned = undefined;
    this.#isElsewhere = false;
    return 'counts';
  }

  #ask(question: Promise<NewestGeneration | undefined>): Promise<Newest> {
    return answerWithin<Newest>(
      this.#time,
      this.#config.probeTimeoutMs,
      'the newest generation',
      question,
    ).catch(
      // The reason does not matter here: other questions to the durable store report it.
      () => 'unknown',
    );
  }
}
