import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Lane } from '../mailbox/mailbox.js';

/** The part of a ts-proto message type that the runtime needs. */
export interface MessageCodec {
  encode(message: unknown, writer?: BinaryWriter): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

export interface MethodShape {
  readonly name: string;
  readonly requestType: MessageCodec;
  readonly requestStream: boolean;
  readonly responseType: MessageCodec;
  readonly responseStream: boolean;
}

/** A protobuf service as ts-proto generates it with `outputServices=generic-definitions`. */
export interface ServiceShape {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodShape>>;
}

/** A method without its static types. */
export interface Method {
  readonly name: string;
  readonly lane: Lane;
  readonly idempotent: boolean;
  readonly streams: boolean;
  readonly input: MessageCodec;
  readonly output: MessageCodec;
  readonly resume: ((input: unknown, last: unknown) => unknown) | undefined;
}

interface LooseRules {
  readonly lane?: Lane;
  readonly idempotent?: boolean;
  resume?(input: unknown, last: unknown): unknown;
}

export function methodsOf(
  service: ServiceShape,
  rules: Readonly<Record<string, LooseRules | undefined>>,
): ReadonlyMap<string, Method> {
  const methods = new Map<string, Method>();
  for (const [name, shape] of Object.entries(service.methods)) {
    if (shape.requestStream) {
      throw new TypeError(`${service.fullName}.${shape.name}: request streams are not supported`);
    }
    const rule = rules[name];
    const resume = rule?.resume?.bind(rule);
    methods.set(name, {
      name,
      lane: rule?.lane ?? 'turn',
      // A method with `resume` may be retried.
      idempotent: rule?.idempotent ?? resume !== undefined,
      streams: shape.responseStream,
      input: shape.requestType,
      output: shape.responseType,
      resume,
    });
  }
  return methods;
}
