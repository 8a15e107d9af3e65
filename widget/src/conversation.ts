import { backoffMs } from '../../client/src/backoff';
import { Limit } from '../../client/src/limit';
import { newIdempotencyKey, type Surroundings, systemSurroundings } from '../../client/src/surroundings';
import {
  ApiError,
  type Block,
  type ChatApi,
  faultOf,
  hasNoTurn,
  type History,
  longestPauseMs,
  type Message,
  type TurnEvent,
} from './api';
import type { TextName } from './texts';
import type { PendingMessage, VisitorStore } from './visitor';

export interface ShownMessage {
  readonly from: 'visitor' | 'agent' | 'person';
  readonly text: string;
  /** The turn that a message of the history belongs to. */
  readonly executionId?: string | undefined;
  /** The answer is still being written. */
  readonly isPartial?: boolean;
}

export interface ChatState {
  readonly messages: readonly ShownMessage[];
  /** One line about what goes on. */
  readonly notice: TextName | undefined;
  readonly isWorking: boolean;
  readonly canRetry: boolean;
  readonly quickReplies: readonly string[];
}

const atRest: ChatState = {
  messages: [],
  notice: undefined,
  isWorking: false,
  canRetry: false,
  quickReplies: [],
};
/** How often the page asks for the answer of a person. */
const askEveryMs = 8_000;
const historyLimitMs = 20_000;

/** Called after every change. `arrived`: answers of people that a reading of the conversation brought. */
export type OnChange = (state: ChatState, arrived: readonly ShownMessage[]) => void;

/** The conversation of this visitor with the agent. */
export class Conversation {
  readonly #api: ChatApi;
  readonly #store: VisitorStore;
  readonly #onChange: OnChange;
  readonly #surroundings: Surroundings;
  #state = atRest;
  #isResumed = false;
  /** What was said before is not on screen yet. */
  #isMissing = false;
  #isReading = false;
  /** Readings in a row that failed. */
  #failures = 0;
  /** The key of a message whose turn the visitor stopped before it was known. */
  #stopped: string | undefined;
  #cancelReading = (): void => undefined;
  #stopAsking: (() => void) | undefined;
  /** The messages of the last reading. */
  #known: ReadonlySet<string> = new Set();

  constructor(
    api: ChatApi,
    store: VisitorStore,
    onChange: OnChange,
    surroundings: Surroundings = systemSurroundings,
  ) {
    this.#api = api;
    this.#store = store;
    this.#onChange = onChange;
    this.#surroundings = surroundings;
  }

  get state(): ChatState {
    return this.#state;
  }

  /** Shows what the browser remembers, and goes on with a turn that a reload interrupted. */
  async resume(): Promise<void> {
    if (this.#isResumed) {
      if (this.#isMissing) this.#readAgain();
      return;
    }
    this.#isResumed = true;
    const { pending, sessionId } = this.#store.visitor;
    this.#isMissing = sessionId !== undefined;
    await this.#read(pending?.executionId);
    // The visitor may have written or begun anew meanwhile.
    if (pending !== undefined && this.#isPending(pending)) await this.#run(pending);
  }

  async send(text: string): Promise<void> {
    const message = text.trim();
    if (message === '' || this.#state.isWorking) return;
    const pending = { text: message, idempotencyKey: newIdempotencyKey() };
    this.#store.change({ pending });
    await this.#run(pending);
  }

  async retry(): Promise<void> {
    const { pending } = this.#store.visitor;
    if (pending !== undefined && !this.#state.isWorking) await this.#run(pending, true);
  }

  /** Ends the turn; its stream then tells that it was cancelled. */
  async stop(): Promise<void> {
    const { pending } = this.#store.visitor;
    const id = pending?.executionId;
    // Where the request fails, the turn goes on and the visitor may press again.
    if (id !== undefined) await this.#api.cancel(id).catch(() => undefined);
    else this.#stopped = pending?.idempotencyKey;
  }

  /** Forgets the conversation and its visitor in this browser. */
  restart(): void {
    if (this.#state.isWorking) void this.stop();
    this.#store.forget();
    this.#watch(false);
    this.#isMissing = false;
    this.#cancelReading();
    this.#change({ ...atRest });
  }

  async #run(pending: PendingMessage, isRetry = false): Promise<void> {
    const shown: ShownMessage = { from: 'visitor', text: pending.text };
    let before = isRetry ? this.#state.messages : [...this.#state.messages, shown];
    this.#change({ ...atRest, messages: before, isWorking: true, notice: 'working' });
    const turn = new Answer();
    this.#stopped = undefined;
    try {
      const lost = (): void => this.#change({ notice: 'reconnecting' });
      for await (const event of this.#api.turn(pending, lost)) {
        // The visitor began anew meanwhile.
        if (!this.#isPending(pending)) return;
        this.#note(event, pending);
        turn.take(event);
        // A message that was accepted before the page was loaded again is in the history already.
        if (event.type === 'metadata')
          before = before.filter((one) => one.executionId !== event.execution_id);
        const isShown = turn.text !== '';
        this.#change({
          messages: isShown ? [...before, { from: 'agent', text: turn.text, isPartial: true }] : before,
          notice: turn.isWaiting ? 'waiting' : 'working',
        });
      }
      await this.#end(turn, before);
    } catch (error) {
      if (this.#isPending(pending)) this.#fail(error);
    }
  }

  #isPending({ idempotencyKey }: PendingMessage): boolean {
    return this.#store.visitor.pending?.idempotencyKey === idempotencyKey;
  }

  #note(event: TurnEvent, pending: PendingMessage): void {
    if (event.type !== 'metadata') return;
    const { execution_id: executionId, session_id: sessionId } = event;
    this.#store.change({ sessionId, pending: { ...pending, executionId } });
    if (this.#stopped === pending.idempotencyKey) void this.stop();
  }

  async #end(turn: Answer, before: readonly ShownMessage[]): Promise<void> {
    this.#store.change({ pending: undefined });
    const answered: readonly ShownMessage[] =
      turn.text === '' ? before : [...before, { from: 'agent', text: turn.text }];
    const notices: Readonly<Record<string, TextName>> = {
      CANCELLED: 'stopped',
      SUSPENDED: 'handoff',
      FAILED: 'failed',
      TIMEOUT: 'failed',
      BLOCKED: 'unavailable',
    };
    const notice = notices[turn.outcome];
    this.#change({ ...atRest, messages: answered, notice, quickReplies: turn.quickReplies });
    if (turn.outcome === 'SUSPENDED') this.#watch(true);
  }

  #fail(error: unknown): void {
    if (error instanceof ApiError) {
      this.#noteRefusal(error);
      tellAuthor(error);
    }
    const messages = this.#state.messages.filter(({ isPartial }) => isPartial !== true);
    this.#change({ ...atRest, messages, notice: faultOf(error), canRetry: true });
  }

  /** A message that may have a turn keeps its key, so that trying again goes on with the turn and begins no other one. */
  #noteRefusal(error: ApiError): void {
    const { pending } = this.#store.visitor;
    // The secret is nobody's. Another visitor has other conversations.
    if (error.code === 'authentication_required')
      this.#store.change({ secret: undefined, sessionId: undefined });
    // The conversation was erased: the message begins a new one.
    if (error.code === 'not_found') this.#store.change({ sessionId: undefined });
    if (pending !== undefined && hasNoTurn(error, pending))
      this.#store.change({ pending: { text: pending.text, idempotencyKey: newIdempotencyKey() } });
  }

  /** Reads the conversation, without what belongs to a turn that is read next. */
  async #read(withoutExecution?: string): Promise<void> {
    const { sessionId } = this.#store.visitor;
    if (sessionId === undefined || this.#isReading) return;
    this.#isReading = true;
    this.#cancelReading();
    const { messages: before } = this.#state;
    const limit = new Limit(historyLimitMs, this.#surroundings);
    try {
      const history = await limit.of(this.#api.history(sessionId, limit.signal));
      if (this.#store.visitor.sessionId !== sessionId) return;
      this.#failures = 0;
      // The visitor has written meanwhile, so the answer may be older than what is shown.
      if (this.#state.messages !== before || this.#state.isWorking) {
        if (this.#isMissing) this.#readLater();
      } else this.#show(history, withoutExecution);
    } catch (error) {
      if (this.#store.visitor.sessionId === sessionId) this.#failReading(error);
    } finally {
      limit.end();
      this.#isReading = false;
    }
  }

  #show({ messages, isHandedOff }: History, withoutExecution?: string): void {
    const shown = messages.filter(
      ({ execution_id: id }) => withoutExecution === undefined || id !== withoutExecution,
    );
    // What was said before the page was loaded is no news.
    const arrived = this.#isMissing
      ? []
      : messages.filter(({ id, from }) => from === 'person' && !this.#known.has(id));
    this.#known = new Set(messages.map(({ id }) => id));
    this.#isMissing = false;
    this.#watch(isHandedOff);
    this.#change(
      { messages: shown.map(shownOf), notice: isHandedOff ? 'handoff' : this.#lastingNotice },
      arrived.map(shownOf),
    );
  }

  #failReading(error: unknown): void {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status !== undefined && status < 500 && status !== 408 && status !== 429) {
      // Only a conversation that is not there is forgotten: a refused key or origin may be allowed again. What is missing
      // is then asked for when the chat is opened.
      if (status === 404) {
        this.#isMissing = false;
        this.#store.change({ sessionId: undefined });
      }
      this.#change({ notice: this.#lastingNotice });
      return;
    }
    this.#failures += 1;
    if (!this.#state.isWorking) this.#change({ notice: 'reconnecting' });
    if (this.#isMissing) this.#readLater(error instanceof ApiError ? error.retryAfterMs : undefined);
  }

  /** The notice without what a reading of the conversation says anew. */
  get #lastingNotice(): TextName | undefined {
    const { notice } = this.#state;
    return notice === 'reconnecting' || notice === 'handoff' ? undefined : notice;
  }

  #readLater(askedMs = 0): void {
    const pauseMs = Math.max(
      backoffMs(this.#surroundings, this.#failures),
      Math.min(askedMs, longestPauseMs),
    );
    this.#cancelReading();
    this.#cancelReading = this.#surroundings.after(pauseMs, () => this.#readAgain());
  }

  #readAgain(): void {
    const { isOpen, pending } = this.#store.visitor;
    // Opening the chat comes here again.
    if (isOpen !== true) return;
    // A turn that runs, and a message that failed, are not in the history as they are on screen.
    if (this.#isIdle && pending === undefined) void this.#read();
    else this.#readLater(askEveryMs);
  }

  get #isIdle(): boolean {
    return !this.#state.isWorking && document.visibilityState === 'visible';
  }

  /** While a person answers, the page asks for news. */
  #watch(isHandedOff: boolean): void {
    if (!isHandedOff) this.#stopAsking?.();
    this.#stopAsking = isHandedOff ? (this.#stopAsking ?? this.#askLater()) : undefined;
  }

  #askLater(): () => void {
    return this.#surroundings.after(askEveryMs, () => {
      this.#stopAsking = this.#askLater();
      if (this.#isIdle) void this.#read();
    });
  }

  #change(fields: Partial<ChatState>, arrived: readonly ShownMessage[] = []): void {
    this.#state = { ...this.#state, ...fields };
    this.#onChange(this.#state, arrived);
  }
}

function shownOf({ from, content, execution_id: executionId }: Message): ShownMessage {
  return { from, text: content, executionId: executionId ?? undefined };
}

/** What the events of a turn add up to. */
class Answer {
  text = '';
  outcome = '';
  isWaiting = false;
  quickReplies: readonly string[] = [];

  take(event: TurnEvent): void {
    if (event.type === 'done') this.outcome = event.outcome;
    else if (event.type === 'approval') this.isWaiting = true;
    else if (event.type === 'status' && event.state === 'restarted') this.text = '';
    else if (event.type === 'delta') {
      this.isWaiting = false;
      this.text += event.content;
    } else if (event.type === 'response') {
      this.isWaiting = false;
      this.text = event.content;
      this.quickReplies = repliesIn(event.blocks ?? []);
    }
  }
}

function repliesIn(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap(({ type, data }) => (type === 'quick_replies' ? (data?.labels ?? []) : []));
}

/** The visitor can do nothing about a wrong key or origin; the author of the page looks here. */
function tellAuthor({ status, code, message }: ApiError): void {
  // eslint-disable-next-line no-console -- the only place where the author of a page looks
  console.warn(`Troupe chat: ${status} ${code}: ${message}`);
}
