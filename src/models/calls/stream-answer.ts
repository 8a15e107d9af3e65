/**
 * A streamed answer. It begins with the first piece, so that a call that fails earlier is refused with its own status.
 * A later failure is the last event of the stream.
 */
import { PlatformError } from '../../kernel/errors.js';
import type { LlmEvent } from '../../llm/index.js';
import {
  eventStream,
  type RawReply,
  type StreamReply,
  type StreamWriter,
  unexpected,
} from '../../http/operations/index.js';
import type { RunningCall, ServedCall } from './model-calls.js';
import { payerHeaders, toNobody } from './replies.js';

/** The format of the events. */
export interface StreamForm {
  write(events: readonly LlmEvent[]): string;
  end(served: ServedCall): string;
  /** The last event of a stream that failed. */
  failure(error: PlatformError): string;
}

/** `formOf` and `moreHeaders` are called when the first piece is there: only then is the answering model known. */
export function streamedAnswer(
  call: RunningCall,
  formOf: () => StreamForm,
  failed: (error: unknown) => void,
  moreHeaders: () => Readonly<Record<string, string>> = () => ({}),
): Promise<StreamReply | RawReply> {
  return new Promise((resolve, reject) => {
    let pen: Pen | undefined;
    const served = call.run((events) => {
      if (pen !== undefined) return pen.write(events);
      const form = formOf();
      const opening = form.write(events);
      return new Promise<void>((opened) => {
        const run = (writer: StreamWriter): Promise<string> => {
          pen = new Pen(writer, form);
          opened();
          return closingEvents(served, form, pen, failed);
        };
        const headers = { ...payerHeaders(call.target?.credential.payer), ...moreHeaders() };
        resolve(eventStream(run, headers, opening, (error) => form.failure(error)));
      });
    });
    served.then(() => resolve(toNobody), reject);
  });
}

/** The events that end the stream, once the call has ended. */
async function closingEvents(
  call: Promise<ServedCall | undefined>,
  form: StreamForm,
  pen: Pen,
  failed: (error: unknown) => void,
): Promise<string> {
  try {
    const served = await call;
    return served === undefined ? '' : pen.kept + form.end(served);
  } catch (error) {
    if (!(error instanceof PlatformError)) failed(error);
    pen.failed();
    return form.failure(error instanceof PlatformError ? error : unexpected(error));
  }
}

class Pen {
  readonly #writer: StreamWriter;
  readonly #form: StreamForm;
  /** The closing events: they leave in one write with the end of the stream. */
  kept = '';

  constructor(writer: StreamWriter, form: StreamForm) {
    this.#writer = writer;
    this.#form = form;
  }

  failed(): void {
    this.#writer.failed?.();
  }

  write(events: readonly LlmEvent[]): Promise<void> | undefined {
    const text = this.#form.write(events);
    if (events.at(-1)?.type === 'stop') {
      this.kept = text;
      return undefined;
    }
    return text === '' || this.#writer.write(text) ? undefined : this.#writer.drained();
  }
}
