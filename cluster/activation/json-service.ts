import type { MessageCodec } from './method.js';

/** Messages of one type as JSON. `BigInt`, `Date`, `undefined` in lists and bytes do not survive it. */
export interface JsonCodec<Message> extends MessageCodec {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

export interface JsonMethod<Request, Response, Streams extends boolean> {
  readonly requestType: JsonCodec<Request>;
  readonly responseType: JsonCodec<Response>;
  readonly responseStream: Streams;
}

interface JsonService<Methods extends Readonly<Record<string, JsonMethod<unknown, unknown, boolean>>>> {
  readonly fullName: string;
  readonly methods: {
    readonly [Name in keyof Methods]: Methods[Name] & {
      readonly name: string;
      readonly requestStream: false;
    };
  };
}

/**
 * A service that is described in TypeScript alone. Its messages travel as JSON, which takes more bytes and CPU time than
 * protobuf, and nothing checks that two releases agree on them: add fields, never change or remove one.
 */
export function jsonService<
  const Methods extends Readonly<Record<string, JsonMethod<unknown, unknown, boolean>>>,
>(fullName: string, methods: Methods): JsonService<Methods> {
  const described = Object.entries(methods).map(([name, method]) => [
    name,
    { ...method, name, requestStream: false },
  ]);
  return { fullName, methods: Object.fromEntries(described) as JsonService<Methods>['methods'] };
}

/** A method that answers one message. */
export function answers<Request, Response>(): JsonMethod<Request, Response, false> {
  return { requestType: jsonCodec(), responseType: jsonCodec(), responseStream: false };
}

/** A method that answers a stream of messages. */
export function streams<Request, Response>(): JsonMethod<Request, Response, true> {
  return { requestType: jsonCodec(), responseType: jsonCodec(), responseStream: true };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

function jsonCodec<Message>(): JsonCodec<Message> {
  return {
    encode: (message) => {
      const bytes = encoder.encode(JSON.stringify(message));
      return { finish: () => bytes };
    },
    decode: (bytes) => JSON.parse(decoder.decode(bytes)) as Message,
  };
}
