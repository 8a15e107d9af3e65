/** Identifiers of the runtime, branded so that one can never stand in for another. */
declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Full protobuf service name of an actor kind, such as `troupe.actors.v1.SessionActor`. */
export type ActorKind = Branded<string, 'ActorKind'>;
/** One start of one process. Fresh at every start, never an address: addresses are reused, ids are not. */
export type ProcessId = Branded<string, 'ProcessId'>;
/** Where an actor's key falls on the ring; rows of unfinished work carry it. */
export type Slot = Branded<number, 'Slot'>;
/** Number of a membership view, taken in the durable store before the view is published. */
export type ViewNumber = Branded<number, 'ViewNumber'>;
/** How often an actor has been activated over durable state. Only rises. */
export type Epoch = Branded<number, 'Epoch'>;
/** Random, new at each activation: tells two activations apart that a rewound store gave one epoch. */
export type ActivationId = Branded<string, 'ActivationId'>;
/** Raised by one with each durable write of an activation. */
export type Revision = Branded<number, 'Revision'>;
/** Given once by the first caller and kept over every retry. */
export type RequestId = Branded<string, 'RequestId'>;

/**
 * Who is called. `group` is what shares are fair between (a tenant, for the platform); the runtime never
 * looks inside it, but it is part of the identity: the same key in two groups is two actors.
 */
export interface ActorAddress {
  readonly kind: ActorKind;
  readonly group: string;
  readonly key: string;
}

/** 2^18. Fewer slots leave the fullest of 100 nodes above 1.10 × the mean in many draws of process ids. */
export const slotCount = 262_144;

export class InvalidIdError extends Error {
  override readonly name = 'InvalidIdError';
}

const kindPattern = /^[A-Za-z_][\w]*(?:\.[A-Za-z_][\w]*)*$/;
const processPattern = /^[\w.-]{1,64}$/;
/** NUL divides the parts of an address where it becomes one string. */
const keyPattern = /^[^\0]{1,512}$/;
const groupPattern = /^[^\0]{0,128}$/;
const requestPattern = /^[\x21-\x7e]{1,128}$/;

export const actorKind = parser('actor kind', (text: string): text is ActorKind => kindPattern.test(text));
export const processId = parser('process id', (text: string): text is ProcessId => processPattern.test(text));
export const requestId = parser('request id', (text: string): text is RequestId => requestPattern.test(text));
/** Of a checked prefix and a number: a process names its own calls so, thousands of times a second. */
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

/** One string for maps; unlike `key` alone it names the actor fully. */
export function addressText(address: ActorAddress): string {
  return `${address.kind}\0${address.group}\0${address.key}`;
}

/** A function declaration, so that the constants above can use it before this line. */
function parser<Base extends string | number, Id extends Base>(
  what: string,
  isId: (value: Base) => value is Id,
): (value: Base) => Id {
  return (value) => {
    if (!isId(value)) throw new InvalidIdError(`not a valid ${what}: ${String(value).slice(0, 80)}`);
    return value;
  };
}

function isCounter(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
