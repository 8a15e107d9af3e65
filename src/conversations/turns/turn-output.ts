import type { Time } from '../../../cluster/index.js';
import type { AssistantPart, LlmEvent } from '../../llm/index.js';
import type { TurnPorts } from './turn.js';

/** Separates the texts of two rounds: after a look-up the model continues in a new paragraph. */
const pause = '\n\n';

/**
 * The text of the turn: publishes it to the readers and keeps it whole. The published pieces together are exactly
 * the text that is stored.
 */
export class TurnOutput {
  readonly #emit: TurnPorts['emit'];
  readonly #time: Time;
  readonly #startedAtMs: number;
  #text = '';
  /** The first half of a surrogate pair whose second half comes with the next piece. */
  #half = '';
  #newRound = false;
  #firstTokenMs: number | null = null;

  constructor(emit: TurnPorts['emit'], time: Time) {
    this.#emit = emit;
    this.#time = time;
    this.#startedAtMs = time.monotonicMs();
  }

  get text(): string {
    return this.#text;
  }

  get firstTokenMs(): number | null {
    return this.#firstTokenMs;
  }

  get elapsedMs(): number {
    return Math.round(this.#time.monotonicMs() - this.#startedAtMs);
  }

  nextRound(): void {
    this.#half = '';
    this.#newRound = this.#text !== '';
  }

  /** Handles each piece as the vendor sent it. Pieces that arrive together still reach the readers in one write. */
  publish(events: readonly LlmEvent[]): void {
    for (const event of events)
      if (event.type === 'content' || event.type === 'thinking') this.#say(event.type, event.text);
  }

  /** Publishes a recorded answer again. */
  repeat(parts: readonly AssistantPart[]): void {
    for (const part of parts) {
      if (part.type === 'text') this.#say('content', part.text);
      else if (part.type === 'thinking') this.#say('thinking', part.text);
    }
  }

  #say(kind: 'content' | 'thinking', text: string): void {
    if (text === '') return;
    this.#firstTokenMs ??= this.elapsedMs;
    if (kind === 'thinking') {
      const thought = storable(text);
      if (thought !== '') this.#emit({ type: 'thinking', content: thought });
      return;
    }
    const whole = this.#half + text.replaceAll('\0', '');
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? '';
    const piece = whole.slice(0, whole.length - this.#half.length).toWellFormed();
    if (piece === '') return;
    const content = this.#newRound ? pause + piece : piece;
    this.#newRound = false;
    this.#text += content;
    this.#emit({ type: 'delta', content });
  }
}

/** Text that PostgreSQL accepts: no NUL, no lone surrogates. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
