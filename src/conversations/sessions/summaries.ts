/**
 * Messages that leave the memory window are summarized once enough of them have left, and facts about the consumer
 * are kept across all sessions, unless several people write in the session: a summary does not say who told what. This runs in the background: a failed summary is tried again after the next turn.
 */
import type { FactsRow } from '../consumers/index.js';
import { consumersOf } from '../invocation/index.js';
import { memorySettings, type TurnStart } from '../turns/index.js';
import type { SessionActivation, SessionActorParts } from './parts.js';
import type { MessageRow } from './rows.js';
import type { SessionState } from './session-state.js';
import { transcript } from './transcript.js';

/** Of messages that are summarized late, the oldest are left out. */
const olderMax = 1_000;

export class Summaries {
  readonly #state: SessionState;
  readonly #activation: SessionActivation;
  readonly #parts: SessionActorParts;
  /** Set only while a summary is being made: most sessions in memory never make one. */
  #abort: AbortController | undefined;

  constructor(state: SessionState, activation: SessionActivation, parts: SessionActorParts) {
    this.#state = state;
    this.#activation = activation;
    this.#parts = parts;
  }

  /** The activation ends: the next owner continues with the summaries. */
  stop(): void {
    this.#abort?.abort('lost');
  }

  /** Called after a turn, with what that turn began with, and when. */
  after(start: TurnStart, startedAt: string): void {
    if (this.#abort !== undefined) return;
    const due = this.#due(start);
    if (due === undefined) return;
    this.#abort = new AbortController();
    this.#summarize(start, { ...due, startedAt }, this.#abort.signal)
      .catch((error: unknown) => {
        if (this.#activation.mayAct()) this.#parts.report('summarizing a conversation', error);
      })
      .finally(() => {
        this.#abort = undefined;
      });
  }

  /** The messages to be summarized now: those after number `after`, up to `to`. */
  #due({ agent }: TurnStart): { readonly after: number; readonly to: number } | undefined {
    const { session } = this.#state;
    const { windowMessages, summarizeAfter } = memorySettings(agent.snapshot);
    if (session === undefined || summarizeAfter === undefined) return undefined;
    const to = session.last_message - windowMessages;
    return to - session.summary_to >= summarizeAfter ? { after: session.summary_to, to } : undefined;
  }

  async #summarize(
    start: TurnStart,
    { after, to, startedAt }: { readonly after: number; readonly to: number; readonly startedAt: string },
    signal: AbortSignal,
  ): Promise<void> {
    const begun = this.#state.session?.created_at;
    const { erasures } = this.#state;
    const severalWrite = this.#state.session?.has_several === true;
    const messages = await this.#messages(start, after, to);
    const material = transcript(severalWrite ? messages.map(named) : messages);
    const notes = await this.#parts.turns.summarise(
      severalWrite ? { ...start, facts: [] } : start,
      material,
      {
        mayAct: () => this.#activation.mayAct(),
        signal,
      },
    );
    const { session } = this.#state;
    if (notes === undefined || session === undefined || !this.#activation.mayAct()) return;
    // The session was erased and started anew meanwhile, or a person was erased from it: the notes hold what is gone.
    if (session.created_at !== begun || this.#state.erasures !== erasures) return;
    this.#state.session = { ...session, summary: notes.summary, summary_to: to };
    await this.#activation.write({
      session: this.#state.session,
      facts:
        session.consumer_key === null || session.has_several
          ? []
          : [this.#factsRow(session.consumer_key, notes.facts, startedAt)],
    });
  }

  async #messages(
    { scope, sessionId }: TurnStart,
    after: number,
    to: number,
  ): Promise<readonly MessageRow[]> {
    const held = this.#state.tail.filter(({ number }) => number > after && number <= to);
    // A model is shown the end of a long text alone.
    const missing = Math.min(to - after - held.length, olderMax);
    if (missing <= 0) return held;
    const before = held[0]?.number ?? to + 1;
    return [...(await this.#parts.olderMessages(scope, sessionId, before, missing)), ...held];
  }

  #factsRow(consumerKey: string, facts: readonly string[], readAt: string): FactsRow {
    return {
      tenant_id: this.#activation.address.group,
      consumer_key: consumerKey,
      facts,
      updated_at: readAt,
    };
  }
}

function named(message: MessageRow): MessageRow {
  const people = consumersOf(message.author);
  return people.length === 0 ? message : { ...message, content: `(${people.join(', ')}) ${message.content}` };
}
