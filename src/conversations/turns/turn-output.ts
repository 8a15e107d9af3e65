import type { Time } from '../../../cluster/index.js';
import type { AssistantPart, LlmEvent } from '../../llm/index.js';
import type { RecordedStep, TurnPorts } from './turn.js';
import { storableText } from '../../kernel/storable-text.js';

/** Separates the texts of two rounds: after a look-up the model continues in a new paragraph. */
const pause = '\n\n';

/**
 * The text of the turn: publishes it to the readers and keeps it whole. The published pieces together are exactly
 * the text that is stored.
 */
export class TurnOutput {
  readonly #emit: TurnPorts['emit'];
  readonly #time: Pick<Time, 'monotonicMs'>;
  readonly #startedAtMs: number;
  #text = '';
  /** The first half of a surrogate pair whose second half comes with the next piece. */
  #half = '';
  #newRound = false;
  /** The text of the present round, while texts are held back; undefined if they are published as they come. */
  #held: string | undefined;
  #firstTokenMs: number | null = null;

  constructor(emit: TurnPorts['emit'], time: Pick<Time, 'monotonicMs'>) {
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

  /** From now on nothing is published before `release`: an answer must first be checked. */
  hold(): void {
    this.#held = '';
  }

  /** The text that is held back: that of the last round, since a look-up's words are no part of a value. */
  get held(): string {
    return this.#held ?? '';
  }

  release(): void {
    const content = this.held;
    this.#held = undefined;
    if (content === '') return;
    this.#text += content;
    this.#emit({ type: 'delta', content });
  }

  nextRound(): void {
    this.#half = '';
    if (this.#held !== undefined) {
      this.#held = '';
      return;
    }
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

  /** Publishes the recorded answers of these steps again, each as a round. */
  repeatSteps(steps: readonly RecordedStep[]): void {
    for (const { detail } of steps) {
      if (detail?.step !== 'model') continue;
      this.nextRound();
      this.repeat(detail.parts);
    }
  }

  #say(kind: 'content' | 'thinking', text: string): void {
    if (text === '') return;
    this.#firstTokenMs ??= this.elapsedMs;
    if (kind === 'thinking') {
      const thought = storableText(text);
      if (thought !== '') this.#emit({ type: 'thinking', content: thought });
      return;
    }
    const whole = this.#half + text.replaceAll('\0', '');
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? '';
    const piece = whole.slice(0, whole.length - this.#half.length).toWellFormed();
    if (piece === '') return;
    if (this.#held !== undefined) {
      this.#held += piece;
      return;
    }
    const content = this.#newRound ? pause + piece : piece;
    this.#newRound = false;
    this.#text += content;
    this.#emit({ type: 'delta', content });
  }
}

/** The text that a turn with these steps has published, unless it held its text back. */
export function publishedIn(steps: readonly RecordedStep[]): string {
  const output = new TurnOutput(() => undefined, { monotonicMs: () => 0 });
  output.repeatSteps(steps);
  return output.text;
}
