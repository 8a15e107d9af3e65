import { newIdempotencyKey } from '../../client/src/surroundings';
import { ApiError, type Block, type ChatApi, faultOf, type TurnEvent } from './api';
import type { TextName } from './texts';
import type { PendingMessage, VisitorStore } from './visitor';

export interface ShownMessage {
  readonly from: 'visitor' | 'agent' | 'person';
  readonly text: string;
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

/** The conversation of this visitor with the agent. Calls `onChange` after every change. */
export class Conversation {
  readonly #api: ChatApi;
  readonly #store: VisitorStore;
  readonly #onChange: (state: ChatState) => void;
  #state = atRest;
  #isHandedOff = false;
  #isRead = false;
  #asking: ReturnType<typeof setInterval> | undefined;

  constructor(api: ChatApi, store: VisitorStore, onChange: (state: ChatState) => void) {
    this.#api = api;
    this.#store = store;
    this.#onChange = onChange;
  }

  get state(): ChatState {
    return this.#state;
  }

  /** Shows what the browser remembers, and goes on with a turn that a reload interrupted. */
  async resume(): Promise<void> {
    if (this.#isRead) return;
    this.#isRead = true;
    const { pending } = this.#store.visitor;
    await this.#read(pending?.executionId);
    if (pending !== undefined) await this.#run(pending);
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
    const id = this.#store.visitor.pending?.executionId;
    // Where the request fails, the turn goes on and the visitor may press again.
    if (id !== undefined) await this.#api.cancel(id).catch(() => undefined);
  }

  /** Forgets the conversation and its visitor in this browser. */
  restart(): void {
    if (this.#state.isWorking) void this.stop();
    this.#store.change({ secret: undefined, sessionId: undefined, pending: undefined });
    this.#watch(false);
    this.#change({ ...atRest });
  }

  async #run(pending: PendingMessage, isRetry = false): Promise<void> {
    const shown: ShownMessage = { from: 'visitor', text: pending.text };
    const before = isRetry ? this.#state.messages : [...this.#state.messages, shown];
    this.#change({ ...atRest, messages: before, isWorking: true, notice: 'working' });
    const turn = new Answer();
    try {
      const lost = (): void => this.#change({ notice: 'reconnecting' });
      for await (const event of this.#api.turn(pending, lost)) {
        // The visitor began anew meanwhile.
        if (this.#store.visitor.pending?.idempotencyKey !== pending.idempotencyKey) return;
        this.#note(event, pending);
        turn.take(event);
        const isShown = turn.text !== '';
        this.#change({
          messages: isShown ? [...before, { from: 'agent', text: turn.text, isPartial: true }] : before,
          notice: turn.isWaiting ? 'waiting' : 'working',
        });
      }
      await this.#end(turn, before);
    } catch (error) {
      if (this.#store.visitor.pending?.idempotencyKey === pending.idempotencyKey) this.#fail(error);
    }
  }

  #note(event: TurnEvent, pending: PendingMessage): void {
    if (event.type !== 'metadata') return;
    const { execution_id: executionId, session_id: sessionId } = event;
    this.#store.change({ sessionId, pending: { ...pending, executionId } });
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
    const isUnknown = error instanceof ApiError && error.status === 404 && error.code === 'not_found';
    // The conversation was erased: the message begins a new one.
    if (isUnknown) this.#store.change({ sessionId: undefined });
    if (error instanceof ApiError && error.status === 401) this.#store.change({ secret: undefined });
    const { pending } = this.#store.visitor;
    // Refused before it began, the message is another request; a conversation that is gone has no turn to follow.
    if (pending !== undefined && error instanceof ApiError) {
      this.#store.change({ pending: { text: pending.text, idempotencyKey: newIdempotencyKey() } });
    }
    if (error instanceof ApiError) tellAuthor(error);
    const messages = this.#state.messages.filter(({ isPartial }) => isPartial !== true);
    this.#change({ ...atRest, messages, notice: faultOf(error), canRetry: true });
  }

  /** Reads the conversation, without what belongs to a turn that is read next. */
  async #read(withoutExecution?: string): Promise<void> {
    const { sessionId } = this.#store.visitor;
    if (sessionId === undefined) return;
    const { messages: before } = this.#state;
    try {
      const { messages, isHandedOff } = await this.#api.history(sessionId);
      // The visitor has written or begun anew meanwhile, so the answer may be older than what is shown.
      if (this.#state.messages !== before) return;
      const shown = messages.filter(
        ({ execution_id: id }) => withoutExecution === undefined || id !== withoutExecution,
      );
      this.#watch(isHandedOff);
      this.#change({
        messages: shown.map(({ from, content }) => ({ from, text: content })),
        notice: isHandedOff ? 'handoff' : undefined,
      });
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
        this.#store.change({ sessionId: undefined });
      } else this.#change({ notice: 'reconnecting' });
    }
  }

  /** While a person answers, the page asks for news. */
  #watch(isHandedOff: boolean): void {
    this.#isHandedOff = isHandedOff;
    if (!isHandedOff) clearInterval(this.#asking);
    if (!isHandedOff) this.#asking = undefined;
    else
      this.#asking ??= setInterval(() => {
        const isIdle = !this.#state.isWorking && document.visibilityState === 'visible';
        if (isIdle && this.#isHandedOff) void this.#read();
      }, askEveryMs);
  }

  #change(fields: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...fields };
    this.#onChange(this.#state);
  }
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
