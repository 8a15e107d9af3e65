import type { ActorKind } from '../ids/ids.js';
import type { OutgoingCall, RemoteAnswer } from './remote-call.js';

export interface ProcessQuestion {
  readonly mode: 'describe' | 'release' | 'leave';
  readonly kind: ActorKind;
  /** Empty for a question to the process itself. */
  readonly group?: string;
  readonly key?: string;
  readonly deadlineMs: number;
  readonly answer: Pick<RemoteAnswer, 'reply' | 'fail'>;
}

/** A call that the process answers itself, without the actor: one message, no method, stream or trace. */
export function processQuestion(question: ProcessQuestion): OutgoingCall {
  const { mode, kind, group = '', key = '', deadlineMs, answer } = question;
  return {
    mode,
    kind,
    method: undefined,
    group,
    key,
    body: new Uint8Array(0),
    deadlineMs,
    requestId: mode,
    repeatable: false,
    traceparent: undefined,
    tracestate: undefined,
    callerGroup: '',
    chain: [],
    credit: 0,
    answer: { ...answer, opened() {}, item() {}, end() {} },
  };
}
