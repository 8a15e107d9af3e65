/**
 * The built-in simulated vendor: answers without a network, for trials and load tests. A token is a word, so that the
 * figures can be checked by counting.
 */
import type { LlmRequest, ReplyItem } from '../contract.js';
import type { ClockLimits } from '../transport/attempt-clocks.js';
import { AttemptFeed, type Attempt } from '../transport/attempt-feed.js';
import type { CallTime } from '../transport/call-time.js';
import { zeroUsage, type Usage } from '../usage.js';
import { VendorError } from '../vendor-error.js';
import { simInputWords } from './input-words.js';
import type { SimModel } from './sim-model.js';
import { type SimAnswer, type SimEnd, toolsAnswer } from './sim-tools.js';
import { lastUserText } from './user-text.js';
import { loremPiece, wordPieces } from './words.js';

export interface SimAttemptOptions {
  readonly model: SimModel;
  readonly modelName: string;
  readonly request: LlmRequest;
  readonly id: string;
  readonly time: CallTime;
  readonly clocks: ClockLimits;
}

/** Words per batch without a delay; the reader's backlog decides how soon more follow. */
const wordsPerBatch = 512;
/** Words that are made at once; the process does other work before more follow. These take a few milliseconds. */
const wordsAtOnce = 8 * wordsPerBatch;

export function openSimAttempt(options: SimAttemptOptions): Attempt {
  const feed = new AttemptFeed({ vendor: 'sim', time: options.time, clocks: options.clocks });
  feed.facts.sent = true;
  feed.facts.accepted = true;
  new Answering(feed, options).start();
  return feed;
}

class Answering {
  readonly #feed: AttemptFeed;
  readonly #options: SimAttemptOptions;
  readonly #delayMs: number;
  readonly #answer: SimAnswer;
  #upcoming: IteratorResult<ReplyItem, SimEnd>;
  #words = 0;
  #paused = false;
  #timer: { cancel(): void } | undefined;

  constructor(feed: AttemptFeed, options: SimAttemptOptions) {
    this.#feed = feed;
    this.#options = options;
    const { model, request } = options;
    this.#delayMs = model.kind === 'echo' ? 0 : model.delayMs;
    this.#answer = answerOf(model, request);
    this.#upcoming = this.#made();
  }

  start(): void {
    this.#feed.source = {
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#go();
      },
      close: () => this.#timer?.cancel(),
    };
    const { id, modelName } = this.#options;
    this.#feed.accept(0, (out) => out.push({ type: 'start', id, model: modelName }));
    this.#go();
  }

  #go(): void {
    if (this.#feed.ended) return;
    this.#timer?.cancel();
    if (this.#delayMs > 0 && this.#upcoming.done !== true) {
      this.#timer = this.#options.time.after(this.#delayMs, () => {
        this.#send(1);
        if (!this.#paused) this.#go();
      });
      return;
    }
    for (let sent = 0; this.#upcoming.done !== true && !this.#paused; sent += wordsPerBatch) {
      if (sent >= wordsAtOnce) {
        this.#options.time.soon(() => this.#go());
        return;
      }
      this.#send(wordsPerBatch);
    }
    if (this.#upcoming.done === true && !this.#paused) this.#finish(this.#upcoming.value);
  }

  #send(words: number): void {
    const pieces: ReplyItem[] = [];
    let bytes = 0;
    while (pieces.length < words && this.#upcoming.done !== true) {
      const item = this.#upcoming.value;
      this.#upcoming = this.#made();
      if (item.type === 'content' || item.type === 'tool_call_arguments') {
        bytes += item.text.length;
        this.#words += 1;
      }
      pieces.push(item);
    }
    this.#feed.accept(bytes, (out) => {
      for (const piece of pieces) out.push(piece);
    });
  }

  /** The next piece. An error ends the attempt: most pieces are made in turns of their own, where nobody would catch it. */
  #made(): IteratorResult<ReplyItem, SimEnd> {
    try {
      return this.#answer.next();
    } catch (cause) {
      this.#feed.fail(new VendorError('nonsense', 'no answer could be made', { vendor: 'sim', cause }));
      return { done: true, value: { stop: 'error' } };
    }
  }

  #finish({ stop, sequence }: SimEnd): void {
    this.#feed.accept(0, (out) =>
      out.push(
        { type: 'usage', usage: this.#usage() },
        { type: 'stop', reason: stop, raw: stop, ...(sequence !== undefined && { sequence }) },
      ),
    );
    this.#feed.finish();
  }

  #usage(): Usage {
    const inputUncached = simInputWords(this.#options.request);
    const raw = { input_words: inputUncached, output_words: this.#words };
    return { ...zeroUsage, inputUncached, outputVisible: this.#words, raw };
  }
}

function answerOf(model: SimModel, request: LlmRequest): SimAnswer {
  switch (model.kind) {
    case 'lorem':
      return lorem(model.words);
    case 'tools':
      return toolsAnswer(request);
    case 'echo':
      return echo(request);
  }
}

function* lorem(words: number): SimAnswer {
  for (let index = 0; index < words; index += 1) yield content(loremPiece(index));
  return { stop: 'stop' };
}

function* echo({ messages }: LlmRequest): SimAnswer {
  for (const piece of wordPieces(`echo: ${lastUserText(messages)}`)) yield content(piece);
  return { stop: 'stop' };
}

function content(text: string): ReplyItem {
  return { type: 'content', text };
}
