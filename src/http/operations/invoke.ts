import type { Caller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Operation } from './operation.js';
import { allows } from './permissions.js';
import { JsonReply } from './reply.js';
import { validBody, validQuery } from './input.js';
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
 * Calls an operation within the process, with the same checks of permission and input as a request from outside. The
 * kinds of credential do not apply here: they are a rule of the REST route.
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
    query: validQuery(operation, invocation.query ?? {}),
    body: validBody(operation, invocation.body ?? {}),
    rawBody: new Uint8Array(0),
    rawQuery: '',
    headers: {},
    requestId: invocation.requestId,
    signal: invocation.signal ?? never,
    leaving: invocation.signal ?? never,
  });
  return answer instanceof JsonReply ? answer.body : answer;
}
