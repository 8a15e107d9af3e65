import type { Frame } from '../../../cluster/links/pipe.js';
import { Mode, type Call } from '../../../generated/troupe/cluster/v1/link.js';

/** A call as a peer sends it: of method 1, with an empty body, and the given changes. */
export function callFrame(id: number, changes: Partial<Call> = {}): Frame['frame'] {
  const value: Call = {
    id,
    method: 1,
    group: '',
    key: '',
    body: new Uint8Array(0),
    more: false,
    deadlineMs: 1_000,
    requestId: 'r',
    traceparent: '',
    tracestate: '',
    callerGroup: '',
    chain: [],
    credit: 0,
    mode: Mode.ROUTED,
    repeatable: false,
    ...changes,
  };
  return { $case: 'call', value };
}
