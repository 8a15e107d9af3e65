import { isAbove, type TenantCaller } from '../../kernel/caller.js';

/**
 * Who wrote a message. `consumer`: the person that an integration or a channel names. `user` and `key`: a member or
 * an API key of the tenant, by the credential of the request. `trigger`: a trigger that ran without such a person.
 * `agent`: an answer.
 */
export const authorKinds = ['consumer', 'user', 'key', 'trigger', 'agent'] as const;

export interface Author {
  readonly kind: (typeof authorKinds)[number];
  /** The `consumer_key` of a consumer, otherwise a UUID. */
  readonly id: string;
  /** Further consumers, of a message that was joined from those of several people. */
  readonly others?: readonly string[];
}

/** The consumers whose words the message has. */
export function consumersOf(author: Author | null | undefined): readonly string[] {
  if (author === null || author === undefined) return [];
  return [...(author.kind === 'consumer' ? [author.id] : []), ...(author.others ?? [])];
}

export function authorFrom(caller: TenantCaller): Author {
  return caller.kind === 'key' ? { kind: 'key', id: caller.keyId } : { kind: 'user', id: caller.userId };
}

/**
 * Editors and members continue only sessions that they started: in any other session their messages would pass for
 * those of the person on its other side.
 */
export function continuesOwnSessionsOnly({ role }: TenantCaller): boolean {
  return isAbove('admin', role);
}

/** Whether this author started the session. False for all authors if the starter was never recorded. */
export function isStarter(starter: Author | null, author: Author | undefined): boolean {
  return starter !== null && starter.kind === author?.kind && starter.id === author.id;
}

/**
 * The starter of a session after another turn. Once a consumer or a trigger writes in it, the session is theirs: an
 * editor who tests a trigger with a customer's values must not own the session that the customer comes to later.
 */
export function starterAfter(starter: Author | null, author: Author | undefined): Author | null {
  const speaksForOutside = author?.kind === 'consumer' || author?.kind === 'trigger';
  const isSomebodys = starter?.kind === 'user' || starter?.kind === 'key';
  return speaksForOutside && isSomebodys ? author : starter;
}
