import type { ErrorEvent, Outcome, StreamEvent, TurnUsage } from '../../conversations/invocation/index.js';
import type { StreamWriter } from '../../http/operations/index.js';

/** The result of a turn, as its events report it. */
export interface TurnResult {
  text: string;
  /** The text as a value, if it had to fit a schema. */
  parsed?: unknown;
  outcome: Outcome | undefined;
  timeoutClock: string | null;
  acceptedFields: readonly string[];
  ignoredFields: readonly { readonly field: string; readonly reason: string }[];
  usage: TurnUsage | null;
  error: ErrorEvent | undefined;
  /** A call of a tool that a person has yet to decide on. */
  approvalId: string | undefined;
}

/** Without `.`, `^` and `$`, which take U+2028 and U+2029 for ends of lines: JSON leaves both as they are. */
const dataLine = /(?:^|\n)data: ([^\n]*)/;

/** What tells the reader more than the events do. */
export interface TurnReaderParts {
  /** Aborts when the client leaves. */
  readonly left: AbortSignal;
  readonly onProgress: (message: string) => void;
  /** Whether the turn waits for a person now. */
  readonly waits: () => Promise<boolean>;
}

/**
 * Takes the events of a turn in memory: gathers the result, and reports the text as it grows and the states of tools. Has
 * enough when the turn waits for a person, which may take longer than any client waits for its answer.
 */
export class TurnReader implements StreamWriter {
  readonly result: TurnResult = {
    text: '',
    outcome: undefined,
    timeoutClock: null,
    acceptedFields: [],
    ignoredFields: [],
    usage: null,
    error: undefined,
    approvalId: undefined,
  };
  readonly gone: AbortSignal;
  readonly #parts: TurnReaderParts;
  readonly #enough = new AbortController();

  constructor(parts: TurnReaderParts) {
    this.#parts = parts;
    this.gone = AbortSignal.any([parts.left, this.#enough.signal]);
  }

  /** Each write holds whole frames, since the pump never writes a part of one. */
  write(chunk: string | Uint8Array): boolean {
    for (const frame of String(chunk).split('\n\n')) {
      const data = dataLine.exec(frame)?.[1];
      if (data !== undefined) this.#take(JSON.parse(data) as StreamEvent);
    }
    const { approvalId } = this.result;
    if (approvalId !== undefined) void this.#leaveIfWaiting(approvalId);
    return true;
  }

  /** One that joins the turn later reads of approvals that were decided, perhaps long before it reads what followed. */
  async #leaveIfWaiting(approvalId: string): Promise<void> {
    // Unreadable, it counts as waiting, as the last event says.
    const waits = await this.#parts.waits().catch(() => true);
    if (waits && this.result.approvalId === approvalId) this.#enough.abort();
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  #take(event: StreamEvent): void {
    const { result } = this;
    switch (event.type) {
      case 'metadata':
        result.acceptedFields = event.accepted_fields;
        result.ignoredFields = event.ignored_fields;
        return;
      case 'status':
        // The turn begins again on another node: what came before is not part of the answer.
        if (event.state === 'restarted') result.text = '';
        result.approvalId = undefined;
        return this.#parts.onProgress(event.state);
      case 'delta':
        result.text += event.content;
        return this.#parts.onProgress(result.text);
      case 'response':
        result.text = event.content;
        if (event.parsed !== undefined) result.parsed = event.parsed;
        return;
      case 'tool':
        return this.#parts.onProgress(`tool ${event.name}: ${event.state}`);
      case 'metrics':
        result.usage = event.usage;
        return;
      case 'error':
        result.error = event;
        return;
      case 'done':
        result.outcome = event.outcome;
        result.timeoutClock = event.timeout_clock ?? null;
        return;
      case 'approval':
        result.approvalId = event.approval_id;
        return this.#parts.onProgress(`waiting for a person to approve ${event.tool}`);
      case 'phase':
      case 'thinking':
    }
  }
}
