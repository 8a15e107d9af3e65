/** Answers in the format of another vendor's API, for that vendor's own clients. */
import type { PlatformError } from '../../kernel/errors.js';
import {
  AnswerBuilder,
  type LlmAnswer,
  type LlmEvent,
  type LlmRequest,
  type Origin,
  type Usage,
} from '../../llm/index.js';
import { JsonReply, type RawReply, type StreamReply } from '../../http/operations/index.js';
import type { RunningCall } from './model-calls.js';
import { ignoredHeaders, payerHeaders, toNobody } from './replies.js';
import { streamedAnswer } from './stream-answer.js';

export interface AnswerHead {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

/** The reply format of a compatible interface. */
export interface CompatForm {
  readonly frames: (
    head: AnswerHead,
    origin: Origin,
  ) => { write(events: readonly LlmEvent[]): string; end(): string };
  readonly reply: (answer: LlmAnswer, usage: Usage, head: AnswerHead) => object;
  /** The last event of a stream that failed. */
  readonly failure: (error: PlatformError) => string;
}

type Head = Omit<AnswerHead, 'model'>;

export async function wholeCompatReply(
  call: RunningCall,
  request: LlmRequest,
  form: CompatForm,
  { id, createdSeconds }: Head,
): Promise<JsonReply<object> | RawReply> {
  const builder = new AnswerBuilder();
  const served = await call.run((events) => {
    for (const event of events) builder.add(withSequence(event, request));
  });
  if (served === undefined) return toNobody;
  const answer = builder.build(originOf(call));
  const body = form.reply(answer, served.usage, { id, createdSeconds, model: served.model });
  const headers = { ...payerHeaders(served.payer), ...ignoredHeaders(request, call.target) };
  return new JsonReply(body, 200, headers);
}

export function streamCompatReply(
  call: RunningCall,
  request: LlmRequest,
  form: CompatForm,
  { id, createdSeconds }: Head,
  failed: (error: unknown) => void,
): Promise<StreamReply | RawReply> {
  const formOf = () => {
    const origin = originOf(call);
    const frames = form.frames({ id, createdSeconds, model: origin.model }, origin);
    return {
      write: (events: readonly LlmEvent[]) =>
        frames.write(
          events.at(-1)?.type === 'stop' ? events.map((event) => withSequence(event, request)) : events,
        ),
      end: () => frames.end(),
      failure: form.failure,
    };
  };
  return streamedAnswer(call, formOf, failed, () => ignoredHeaders(request, call.target));
}

/** Some vendors say that a stop sequence ended the answer and not which: of one it is known. */
function withSequence(event: LlmEvent, { stop = [] }: LlmRequest): LlmEvent {
  const [sequence] = stop;
  if (event.type !== 'stop' || event.reason !== 'stop_sequence' || event.sequence !== undefined) return event;
  return sequence === undefined || stop.length > 1 ? event : { ...event, sequence };
}

function originOf({ target }: RunningCall): Origin {
  return {
    vendor: target?.model.vendor ?? '',
    model: target?.model.id ?? '',
    credentialId: target?.credential.id ?? '',
  };
}
