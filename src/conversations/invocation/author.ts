import { isAbove, type TenantCaller } from '../../kernel/caller.js';

/**
 * Who wrote a message. `consumer`: the person whom an integration or a channel names. `user` and `key`: somebody of the
 * tenant, by the credential that they came with. `trigger`: one that ran without such a person. `agent`: an answer.
 */
export const authorKinds = ['consumer', 'user', 'key', 'trigger', 'agent'] as const;

export interface Author {
  readonly kind: (typeof authorKinds)[number];
  /** The `consumer_key` of a consumer, else a UUID. */
  readonly id: string;
}

export function authorFrom(caller: TenantCaller): Author {
  return caller.kind === 'key' ? { kind: 'key', id: caller.keyId } : { kind: 'user', id: caller.userId };
}

/**
 * Editors and members continue only sessions that they began: in any other they would be taken for the person on its
 * other side.
 */
export function continuesOwnSessionsOnly({ role }: TenantCaller): boolean {
  return isAbove('admin', role);
}

/** Whether whoever writes now is who began the session. Nobody is where that was never recorded. */
export function isStarter(starter: Author | null, author: Author | undefined): boolean {
  return starter !== null && starter.kind === author?.kind && starter.id === author.id;
}

/**
 * Whose a session is after another turn. Once a consumer or a trigger speaks in it, it is theirs: an editor may try a
 * trigger with the values of a customer, and must not hold the session that the customer comes to later.
 */
export function starterAfter(starter: Author | null, author: Author | undefined): Author | null {
  const speaksForOutside = author?.kind === 'consumer' || author?.kind === 'trigger';
  const isSomebodys = starter?.kind === 'user' || starter?.kind === 'key';
  return speaksForOutside && isSomebodys ? author : starter;
}
