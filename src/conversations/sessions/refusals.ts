import { ActorError } from '../../../cluster/index.js';
import { errorKinds, type ErrorCode, PlatformError } from '../../kernel/errors.js';

/** Converts a platform error to the form in which it crosses from the actor to the caller. */
export function asActorError(error: unknown): unknown {
  if (!(error instanceof PlatformError)) return error;
  return new ActorError(error.code, error.message, {
    detail: JSON.stringify({ details: error.details, retryAfterSeconds: error.retryAfterSeconds }),
    retryable: error.retry === 'later',
    cause: error,
  });
}

/** The reverse of `asActorError`. Other errors pass unchanged. */
export function asPlatformError(error: unknown): unknown {
  if (!(error instanceof ActorError) || !isCode(error.code)) return error;
  const { details, retryAfterSeconds } = contextOf(error.detail);
  return new PlatformError(error.code, {
    message: error.message.replace(/^application: /, ''),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    cause: error,
  });
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorKinds, code);
}

interface RefusalContext {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
}

function contextOf(detail: string): RefusalContext {
  return detail === '' ? {} : (JSON.parse(detail) as RefusalContext);
}
