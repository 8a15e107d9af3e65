/** Identifiers of the runtime, branded so that one type cannot be used as another. */
declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Full protobuf service name of an actor kind, such as `troupe.actors.v1.SessionActor`. */
export type ActorKind = Branded<string, 'ActorKind'>;
/** One start of one process. New at every start and never an address: addresses are reused, ids are not. */
export type ProcessId = Branded<string, 'ProcessId'>;
/** The part of the key space that an actor's key hashes to. Rows of unfinished work carry it. */
export type Slot = Branded<number, 'Slot'>;
/** Number of a membership view, taken in the durable store before the view is published. */
export type ViewNumber = Branded<number, 'ViewNumber'>;
/** Number of activations of an actor with durable state. It only rises. */
export type Epoch = Branded<number, 'Epoch'>;
/** Random and new at each activation. Separates two activations that got the same epoch from a rewound store. */
export type ActivationId = Branded<string, 'ActivationId'>;
/** Raised by one with each durable write of an activation. */
export type Revision = Branded<number, 'Revision'>;
/** Given once by the first caller and kept over every retry. */
export type RequestId = Branded<string, 'RequestId'>;

/**
 * The address of an actor. `group` is the unit of fair sharing (a tenant, for the platform). The runtime never
 * interprets it, but it is part of the identity: the same key in two groups means two actors.
 */
export interface ActorAddress {
  readonly kind: ActorKind;
  readonly group: string;
  readonly key: string;
}

/** 2^18. With fewer slots the fullest of 100 nodes exceeds 1.10 × the mean for many sets of process ids. */
export const slotCount = 262_144;

export class InvalidIdError extends Error {
  override readonly name = 'InvalidIdError';
}

const kindPattern = /^[A-Za-z_][\w]*(?:\.[A-Za-z_][\w]*)*$/;
const processPattern = /^[\w.-]{1,64}$/;
/** NUL separates the parts of an address in its string form. */
const keyPattern = /^[^\0]{1,512}$/;
const groupPattern = /^[^\0]{0,128}$/;
const requestPattern = /^[\x21-\x7e]{1,128}$/;

export const actorKind = parser('actor kind', (text: string): text is ActorKind => kindPattern.test(text));
export const processId = parser('process id', (text: string): text is ProcessId => processPattern.test(text));
export const requestId = parser('request id', (text: string): text is RequestId => requestPattern.test(text));
/** Joins a checked prefix and a number. A process creates the ids of its own calls this way, thousands per second. */
export function numberedRequestId(prefix: RequestId, number: number): RequestId {
  return shortRequestId(prefix + number.toString(36));
}

const shortRequestId = parser('request id', (text: string): text is RequestId => text.length <= 128);
export const activationId = parser('activation id', (text: string): text is ActivationId =>
  processPattern.test(text),
);
export const slot = parser('slot', (value: number): value is Slot => isCounter(value) && value < slotCount);
export const viewNumber = parser('view number', (value: number): value is ViewNumber => isCounter(value));
export const epoch = parser('epoch', (value: number): value is Epoch => isCounter(value));
export const revision = parser('revision', (value: number): value is Revision => isCounter(value));

export function actorAddress(kind: ActorKind, group: string, key: string): ActorAddress {
  return {
    kind,
    group: actorGroup(group),
    key: actorKeyText(key),
  };
}

const actorGroup = parser('actor group', (text: string): text is string => groupPattern.test(text));
const actorKeyText = parser('actor key', (text: string): text is string => keyPattern.test(text));

/** One string for use in maps; unlike `key` alone it identifies the actor fully. */
export function addressText(address: ActorAddress): string {
  return `${address.kind}\0${address.group}\0${address.key}`;
}

/** A function declaration, so that the constants above can use it. */
function parser<Base extends string | number, Id extends Base>(
  what: string,
  isId: (value: Base) => value is Id,
): (value: Base) => Id {
  return (value) => {
    if (!isId(value)) throw new InvalidIdError(`invalid ${what}: ${String(value).slice(0, 80)}`);
    return value;
  };
}

function isCounter(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
