/** Answers in the form of another vendor's API, so that its own clients can be pointed here. */
import { PlatformError } from '../errors.js';
import { AnswerBuilder, type LlmAnswer, type LlmEvent, type Origin, type Usage } from '../llm/index.js';
import { eventStream, JsonReply, type RawReply, type StreamReply, unexpected } from '../operations/index.js';
import type { RunningCall } from './model-calls.js';
import { payerHeaders, toNobody } from './replies.js';

export interface AnswerHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

/** How a door writes. */
export interface DoorForm {
  readonly frames: (
    head: AnswerHead,
    origin: Origin,
  ) => { write(events: readonly LlmEvent[]): string; end(): string };
  readonly reply: (answer: LlmAnswer, usage: Usage, head: AnswerHead) => object;
  /** The last event of a stream that could not be finished. */
  readonly failure: (error: PlatformError) => string;
}

type Head = Omit<AnswerHead, 'model'>;

export async function wholeAtDoor(
  call: RunningCall,
  form: DoorForm,
  head: Head,
): Promise<JsonReply<object> | RawReply> {
  const builder = new AnswerBuilder();
  for (;;) {
    const step = await call.events.next();
    if (step.done !== true) {
      for (const event of step.value) builder.add(event);
      continue;
    }
    const served = step.value;
    if (served === undefined) return toNobody;
    const answer = builder.build(originOf(call));
    const body = form.reply(answer, served.usage, { ...head, model: served.model });
    return new JsonReply(body, 200, payerHeaders(served.payer));
  }
}

/** Begins with the first piece, like every streamed answer; until then a refusal has a status of its own. */
export async function streamAtDoor(
  call: RunningCall,
  form: DoorForm,
  head: Head,
  failed: (error: unknown) => void,
): Promise<StreamReply | RawReply> {
  const first = await call.events.next();
  if (first.done === true) return toNobody;
  const origin = originOf(call);
  const frames = form.frames({ ...head, model: origin.model }, origin);
  return eventStream(async (writer) => {
    try {
      let step: Awaited<ReturnType<typeof call.events.next>> = first;
      for (; step.done !== true; step = await call.events.next()) {
        const text = frames.write(step.value);
        if (text !== '' && !writer.write(text)) await writer.drained();
      }
      if (step.value !== undefined) writer.write(frames.end());
    } catch (error) {
      if (!(error instanceof PlatformError)) failed(error);
      writer.write(form.failure(error instanceof PlatformError ? error : unexpected(error)));
    }
  }, payerHeaders(call.target?.credential.payer));
}

function originOf({ target }: RunningCall): Origin {
  return {
    vendor: target?.model.vendor ?? '',
    model: target?.model.id ?? '',
    credentialId: target?.credential.id ?? '',
  };
}
