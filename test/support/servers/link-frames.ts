import fc from 'fast-check';
import { CallsRequest, Mode, type Frame } from '../../../generated/troupe/cluster/v1/link.js';

const uint32 = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 0xffff_ffff }));
const uint64 = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const word = fc.oneof(fc.constantFrom('', '__proto__', '\0', 'a'.repeat(600)), fc.string({ maxLength: 20 }));
const process = fc.oneof(fc.constantFrom('server', 'stranger', 'caller'), word);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.integer({ min: 0, max: 40_000 }).map((length) => new Uint8Array(length)),
);
const proof = fc.uint8Array({ minLength: 32, maxLength: 32 });
const nonce = fc.uint8Array({ maxLength: 40 });
const view = fc.record({ number: uint64, hash: word });
const member = fc.record({
  process,
  address: word,
  weight: fc.double(),
  roles: fc.array(word, { maxLength: 3 }),
  host: word,
  pid: uint32,
  version: fc.string({ maxLength: 20 }),
  protocolMin: uint32,
  protocolMax: uint32,
});

function frame<Case extends string, Value>($case: Case, value: fc.Arbitrary<Value>) {
  return value.map((made) => ({ frame: { $case, value: made } }));
}

/** Frames of the greeting, in any order and with any proof. */
export const greetingFrame: fc.Arbitrary<Frame> = fc.oneof(
  frame('challenge', fc.record({ nonce })),
  frame(
    'hello',
    fc.record({
      protocolMin: uint32,
      protocolMax: uint32,
      cluster: fc.oneof(fc.constant('test'), word),
      from: process,
      to: process,
      nonce,
      proof: fc.oneof(proof, nonce),
    }),
  ),
  frame('welcome', fc.record({ protocol: uint32, proof })),
  frame('refusal', fc.record({ code: uint32, message: word })),
);

/** Frames of an open link, with small ids so that they meet, and any content. */
export const linkFrame: fc.Arbitrary<Frame> = fc.oneof(
  frame('view', view),
  frame('method', fc.record({ number: uint32, kind: word, name: word })),
  frame(
    'call',
    fc.record({
      id: uint32,
      method: uint32,
      group: word,
      key: word,
      body,
      more: fc.boolean(),
      deadlineMs: uint32,
      requestId: word,
      traceparent: word,
      tracestate: word,
      callerGroup: word,
      chain: fc.array(word, { maxLength: 5 }),
      credit: uint32,
      mode: fc.constantFrom(
        Mode.UNSPECIFIED,
        Mode.ROUTED,
        Mode.RESIDENT,
        Mode.RELEASE,
        Mode.DESCRIBE,
        Mode.LEAVE,
      ),
      repeatable: fc.boolean(),
    }),
  ),
  frame('chunk', fc.record({ id: uint32, body, more: fc.boolean() })),
  frame('reply', fc.record({ id: uint32, body, more: fc.boolean(), epoch: uint64 })),
  frame('opened', fc.record({ id: uint32, epoch: uint64 })),
  frame('item', fc.record({ id: uint32, body, more: fc.boolean() })),
  frame('end', fc.record({ id: uint32 })),
  frame(
    'failure',
    fc.record({
      id: uint32,
      code: uint32,
      message: word,
      retryAfterMs: uint32,
      applicationCode: word,
      detail: word,
      retryable: fc.boolean(),
      notBegun: fc.boolean(),
    }),
  ),
  frame('credit', fc.record({ id: uint32, amount: uint32 })),
  frame('cancel', fc.record({ id: uint32 })),
  frame('ping', fc.constant({})),
  frame('pong', fc.constant({})),
  frame(
    'probe',
    fc.record({
      id: uint32,
      view: fc.option(view, { nil: undefined }),
      confirm: fc.boolean(),
      exited: process,
    }),
  ),
  frame(
    'probeAnswer',
    fc.record({
      id: uint32,
      confirmed: fc.boolean(),
      reachesMemberStore: fc.boolean(),
      view: fc.option(
        fc.record({ number: uint64, hash: word, members: fc.array(member, { maxLength: 3 }) }),
        {
          nil: undefined,
        },
      ),
    }),
  ),
  fc.constant({ frame: undefined }),
);

export const anyFrame = fc.oneof(greetingFrame, linkFrame);

/** The bytes of a batch, whole or with a few of them changed, cut out or put in. */
export function batchBytes(frames: fc.Arbitrary<Frame>, maxLength = 6): fc.Arbitrary<Uint8Array> {
  const whole = fc
    .array(frames, { maxLength })
    .map((batch) => Buffer.from(CallsRequest.encode({ frames: batch }).finish()));
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.integer({ min: 0, max: 4 }),
    insert: fc.uint8Array({ maxLength: 4 }),
  });
  const changed = fc.tuple(whole, fc.array(change, { minLength: 1, maxLength: 4 })).map(([bytes, changes]) =>
    changes.reduce((before, { at, remove, insert }) => {
      const position = Math.floor(at * before.length);
      return Buffer.concat([before.subarray(0, position), insert, before.subarray(position + remove)]);
    }, bytes),
  );
  return fc.oneof(
    { weight: 2, arbitrary: whole },
    { weight: 3, arbitrary: changed },
    fc.uint8Array({ maxLength: 60 }),
  );
}
