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
  /** A call of a tool that a person decides on. */
  approvalId: string | undefined;
}

/** Without `.`, `^` and `$`, which take U+2028 and U+2029 for ends of lines: JSON leaves both as they are. */
const dataLine = /(?:^|\n)data: ([^\n]*)/;

/** Takes the events of a turn in memory: gathers the result, and reports the text as it grows and the states of tools. */
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
  readonly #onProgress: (message: string) => void;

  constructor(gone: AbortSignal, onProgress: (message: string) => void) {
    this.gone = gone;
    this.#onProgress = onProgress;
  }

  /** Each write holds whole frames, since the pump never writes a part of one. */
  write(chunk: string | Uint8Array): boolean {
    for (const frame of String(chunk).split('\n\n')) {
      const data = dataLine.exec(frame)?.[1];
      if (data !== undefined) this.#take(JSON.parse(data) as StreamEvent);
    }
    return true;
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
        return this.#onProgress(event.state);
      case 'delta':
        result.text += event.content;
        return this.#onProgress(result.text);
      case 'response':
        result.text = event.content;
        if (event.parsed !== undefined) result.parsed = event.parsed;
        return;
      case 'tool':
        return this.#onProgress(`tool ${event.name}: ${event.state}`);
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
        return this.#onProgress(`waiting for a person to approve ${event.tool}`);
      case 'phase':
      case 'thinking':
    }
  }
}
