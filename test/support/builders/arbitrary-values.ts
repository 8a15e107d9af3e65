// Values for property tests of messages.
import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { FlatObject } from '../../../src/conversations/invocation/index.js';

/** Any text that UTF-8 can carry. */
export const text = fc.string({ unit: 'binary' });
/** Any text of JavaScript, with halves of surrogate pairs. */
export const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xff_ff }), fc.integer({ min: 0xd8_00, max: 0xdf_ff })))
  .map((units) => String.fromCharCode(...units));
/** The largest amount that a number holds exactly is among them. */
export const amount = fc.oneof(
  fc.maxSafeNat(),
  fc.constant(Number.MAX_SAFE_INTEGER),
  fc.constant(2 ** 32),
  fc.constant(0),
);
export const smallAmount = fc.oneof(fc.nat(), fc.constant(2 ** 32 - 1), fc.constant(0));
/** JSON has neither NaN nor infinities, and writes −0 as 0. */
export const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
export const moment = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});
/** An object that a caller may declare: `__proto__` is refused at the edge. */
export const flatObject: fc.Arbitrary<FlatObject> = fc.dictionary(
  text.filter((name) => name !== '__proto__'),
  fc.oneof(text, number, fc.boolean()),
  { noNullPrototype: true },
);

/** Includes the absent and, for texts, the empty value. */
export function perhaps<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(value, { nil: undefined });
}

export function orNull<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> {
  return fc.option(value, { nil: null });
}

interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

/** Each value is the same after it was a message, and after the message was bytes. */
export function survives<Value, Message>(
  t: ExecutionContext,
  values: fc.Arbitrary<Value>,
  codec: Codec<Message>,
  toWire: (value: Value) => Message,
  fromWire: (message: Message) => Value,
): void {
  fc.assert(
    fc.property(values, (value) => {
      const message = toWire(value);
      // A caller of the same node gets the message itself, without its bytes.
      t.deepEqual(fromWire(message), value);
      t.deepEqual(fromWire(codec.decode(codec.encode(message).finish())), value);
    }),
  );
}

/** The message with a number in the place of an enum's value, as another version may send it. */
export function withNumber<Message extends object>(
  message: Message,
  field: keyof Message & string,
  number: number,
): Message {
  return Object.assign({ ...message }, { [field]: number });
}
