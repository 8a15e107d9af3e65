/**
 * An answer written as it comes. It begins only with the first piece: a call that fails before it is refused with a
 * status of its own. Afterwards the last event tells how it went.
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

/** How the events are written. */
export interface StreamForm {
  write(events: readonly LlmEvent[]): string;
  end(served: ServedCall): string;
  /** The last event of a stream that could not be finished. */
  failure(error: PlatformError): string;
}

/** `formOf` is asked once the first piece is there: only then it is known who answers. */
export function streamedAnswer(
  call: RunningCall,
  formOf: () => StreamForm,
  failed: (error: unknown) => void,
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
          return lastWords(served, form, pen, failed);
        };
        resolve(eventStream(run, payerHeaders(call.target?.credential.payer), opening));
      });
    });
    served.then(() => resolve(toNobody), reject);
  });
}

/** What ends the stream, once the call has ended. */
async function lastWords(
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
    return form.failure(error instanceof PlatformError ? error : unexpected(error));
  }
}

class Pen {
  readonly #writer: StreamWriter;
  readonly #form: StreamForm;
  /** The closing events, which leave in one write with the end that follows them at once. */
  kept = '';

  constructor(writer: StreamWriter, form: StreamForm) {
    this.#writer = writer;
    this.#form = form;
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
