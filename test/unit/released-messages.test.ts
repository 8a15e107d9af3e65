// The generated code of today reads and writes each released message: the same numbers stand for the same names.
import { readFileSync } from 'node:fs';
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import test from 'ava';
import * as agentWindow from '../../generated/troupe/actors/v1/agent_window.js';
import * as pulse from '../../generated/troupe/actors/v1/pulse.js';
import * as quota from '../../generated/troupe/actors/v1/quota.js';
import * as session from '../../generated/troupe/actors/v1/session.js';
import * as turnEvent from '../../generated/troupe/actors/v1/turn_event.js';

interface Codec {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

const generated: Readonly<Record<string, unknown>> = {
  ...agentWindow,
  ...pulse,
  ...quota,
  ...session,
  ...turnEvent,
};
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync('proto/released.binpb')),
);

/** A message whose fields differ from each other, and the same as the generated code holds it. */
interface Sample {
  readonly message: Record<string, unknown>;
  readonly expected: Record<string, unknown>;
}

/** `chosen` is the place of the alternative that each oneof has. */
function sampleOf(type: DescMessage, chosen: number): Sample {
  const sample: Sample = { message: {}, expected: {} };
  for (const member of type.members) {
    if (member.kind === 'oneof') {
      const field = member.fields[chosen % member.fields.length];
      if (field === undefined) continue;
      const [value, expected] = valueOf(field, chosen);
      sample.message[member.localName] = { case: field.localName, value };
      sample.expected[member.localName] = { $case: field.localName, value: expected };
    } else {
      const [value, expected] = valueOf(member, chosen);
      sample.message[member.localName] = value;
      sample.expected[member.localName] = expected;
    }
  }
  return sample;
}

function valueOf(field: DescField, chosen: number): readonly [value: unknown, expected: unknown] {
  const [value, expected] = singleOf(field, chosen);
  return field.fieldKind === 'list' ? [[value], [expected]] : [value, expected];
}

function singleOf(field: DescField, chosen: number): readonly [value: unknown, expected: unknown] {
  const number = field.number + 100;
  if (field.enum !== undefined) {
    const last = field.enum.values.at(-1)?.number;
    return [last, last];
  }
  if (field.message === undefined) return scalarOf(field.scalar, number);
  const { typeName } = field.message;
  if (typeName === 'google.protobuf.Struct')
    return [{ [`name ${number}`]: number }, { [`name ${number}`]: number }];
  if (typeName === 'google.protobuf.Timestamp') {
    return [{ seconds: BigInt(number), nanos: 0 }, new Date(number * 1_000)];
  }
  const { message, expected } = sampleOf(field.message, chosen);
  return [message, expected];
}

function scalarOf(type: ScalarType | undefined, number: number): readonly [unknown, unknown] {
  switch (type) {
    case ScalarType.STRING:
      return [`text ${number}`, `text ${number}`];
    case ScalarType.BYTES:
      return [Uint8Array.of(number), Uint8Array.of(number)];
    case ScalarType.BOOL:
      return [true, true];
    case ScalarType.UINT64:
      return [BigInt(number), number];
    case ScalarType.UINT32:
    case ScalarType.DOUBLE:
      return [number, number];
    default:
      throw new Error(`no sample of the scalar type ${String(type)}`);
  }
}

const own = [...registry].filter(
  (type): type is DescMessage => type.kind === 'message' && type.typeName.startsWith('troupe.actors.v1.'),
);

test('every released message is read and written under its names', (t) => {
  t.true(own.length > 50);
  for (const type of own) {
    if (type.fields.length === 0) continue;
    const name = type.typeName.slice('troupe.actors.v1.'.length).replaceAll('.', '_');
    const codec = generated[name] as Codec | undefined;
    if (codec === undefined) return t.fail(`today's version has no message ${type.typeName}`);
    const alternatives = Math.max(1, ...type.oneofs.map(({ fields }) => fields.length));
    for (let chosen = 0; chosen < alternatives; chosen += 1) {
      const { message, expected } = sampleOf(type, chosen);
      const bytes = toBinary(type, create(type, message));
      const read = codec.decode(bytes);
      t.like(read, expected, type.typeName);
      t.deepEqual(create(type, message), fromBinary(type, codec.encode(read).finish()), type.typeName);
    }
  }
});
