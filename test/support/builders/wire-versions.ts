// Other versions of the messages between nodes, derived from the descriptors of the released messages.
import { readFileSync } from 'node:fs';
import {
  create,
  createFileRegistry,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  isMessage,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import type { Kind, Method } from '../../../cluster/index.js';

/** The descriptors of the messages as they were released. */
const released = 'proto/released.binpb';

/** A field that no other version knows. */
const laterField = { name: 'from_a_later_version', number: 1_000, jsonName: 'fromALaterVersion' } as const;

/** How the nodes of one version write and read messages. */
export interface WireVersion {
  readonly name: string;
  /** The bytes that a node of this version sends for a message of today's version. */
  sent(type: string, bytes: Uint8Array): Uint8Array;
  /** What a node of this version understands of a received message, as bytes. */
  understood(type: string, bytes: Uint8Array): Uint8Array;
  /** The messages that it has sent and received. */
  readonly used: ReadonlySet<string>;
}

/** The released version, without the given fields (`Message.field`). */
export function earlierVersion(lacking: readonly string[]): WireVersion {
  const left = new Set(lacking);
  const registry = changed((message, type) => {
    message.field = message.field.filter((field) => !left.delete(`${type}.${field.name}`));
  });
  if (left.size > 0) throw new Error(`the released messages have no ${[...left].join(', ')}`);
  return versionOf('an earlier version', registry, () => undefined);
}

/** The released version with one more field in each message, which it always sends. */
export function laterVersion(): WireVersion {
  const registry = changed((message) => {
    message.field.push(
      create(FieldDescriptorProtoSchema, { ...laterField, type: Type.STRING, label: Label.OPTIONAL }),
    );
  });
  return versionOf('a later version', registry, fillLaterField);
}

/** The kind as a node of the version runs and calls it. */
export function kindOfVersion<AnyKind extends Kind>(kind: AnyKind, version: WireVersion): AnyKind {
  const methods = new Map<string, Method>();
  for (const [name, method] of kind.methods) {
    const base = `${kind.name.slice(0, kind.name.lastIndexOf('.'))}.${pascal(name)}`;
    methods.set(name, {
      ...method,
      input: codecOf(method.input, version, `${base}Request`),
      output: codecOf(method.output, version, `${base}Response`),
    });
  }
  return { ...kind, methods };
}

function codecOf(codec: Method['input'], version: WireVersion, type: string): Method['input'] {
  return {
    encode(message) {
      const bytes = version.sent(type, codec.encode(message).finish());
      return { finish: () => bytes };
    },
    decode: (bytes) => codec.decode(version.understood(type, bytes)),
  };
}

function versionOf(name: string, registry: FileRegistry, fill: (message: Message) => void): WireVersion {
  const used = new Set<string>();
  const messageOf = (type: string): DescMessage => {
    used.add(type);
    const found = registry.getMessage(type);
    if (found === undefined) throw new Error(`the released messages have no ${type}`);
    return found;
  };
  // A node forgets the fields that its version does not know.
  const read = (type: DescMessage, bytes: Uint8Array): Message =>
    fromBinary(type, bytes, { readUnknownFields: false });
  return {
    name,
    used,
    sent(type, bytes) {
      const descriptor = messageOf(type);
      const message = read(descriptor, bytes);
      fill(message);
      return toBinary(descriptor, message);
    },
    understood(type, bytes) {
      const descriptor = messageOf(type);
      return toBinary(descriptor, read(descriptor, bytes));
    },
  };
}

function changed(change: (message: DescriptorProto, type: string) => void): FileRegistry {
  const set: FileDescriptorSet = fromBinary(FileDescriptorSetSchema, readFileSync(released));
  const walk = (messages: readonly DescriptorProto[], prefix: string): void => {
    for (const message of messages) {
      const type = `${prefix}.${message.name}`;
      if (message.options?.mapEntry !== true) change(message, type);
      walk(message.nestedType, type);
    }
  };
  for (const file of set.file) if (file.package.startsWith('troupe.')) walk(file.messageType, file.package);
  return createFileRegistry(set);
}

/** In the message and in every message within it. */
function fillLaterField(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (isMessage(value)) {
    if (!value.$typeName.startsWith('troupe.')) return;
    Object.assign(value, { [laterField.jsonName]: 'a value of a later version' });
  }
  for (const part of Object.values(value)) fillLaterField(part);
}

function pascal(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
