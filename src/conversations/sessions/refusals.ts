import { ActorError } from '../../../cluster/index.js';
import { errorKinds, type ErrorCode, PlatformError } from '../../kernel/errors.js';
import { refusalFromWire, refusalToWire } from './wire/refusal-details.js';

/** Converts a platform error to the form in which it crosses from the actor to the caller. */
export function asActorError(error: unknown): unknown {
  if (!(error instanceof PlatformError)) return error;
  return new ActorError(error.code, error.message, {
    detail: refusalToWire(error),
    retryable: error.retry === 'later',
    cause: error,
  });
}

/** The reverse of `asActorError`. Other errors pass unchanged. */
export function asPlatformError(error: unknown): unknown {
  if (!(error instanceof ActorError) || !isCode(error.code)) return error;
  return PlatformError.again(error.code, {
    message: error.message.replace(/^application: /, ''),
    ...refusalFromWire(error.detail),
    cause: error,
  });
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorKinds, code);
}
