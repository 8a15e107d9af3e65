import type { Caller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Operation } from './operation.js';
import { allows } from './permissions.js';
import { JsonReply } from './reply.js';
import { validate } from './validate.js';

export interface Invocation {
  readonly caller: Caller;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly requestId: string;
}

const never = new AbortController().signal;

/**
 * Calls an operation from within the process, by the same permission and validation as from outside. Which kinds of
 * credential the REST route takes does not matter here: that is a rule of the route.
 */
export async function invoke(operation: Operation, invocation: Invocation): Promise<unknown> {
  const { caller } = invocation;
  const { permission } = operation.access;
  if (permission !== null && !('role' in caller && allows(caller.role, permission))) {
    throw new PlatformError('insufficient_permissions', {
      message: `This needs the permission ${permission}.`,
      details: { permission },
    });
  }
  const answer = await operation.handle({
    caller,
    params: operation.params === undefined ? {} : validate(operation.params, invocation.params ?? {}),
    query: operation.query === undefined ? {} : validate(operation.query, invocation.query ?? {}),
    body: operation.body === undefined ? undefined : validate(operation.body, invocation.body ?? {}),
    rawBody: new Uint8Array(0),
    rawQuery: '',
    headers: {},
    requestId: invocation.requestId,
    signal: invocation.signal ?? never,
    leaving: invocation.signal ?? never,
  });
  return answer instanceof JsonReply ? answer.body : answer;
}
