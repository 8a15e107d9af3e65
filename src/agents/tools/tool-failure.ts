import { EgressError, type EgressFailure } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { ToolError, type ToolFailure } from './tool-error.js';

const failures: Readonly<Record<EgressFailure, ToolFailure>> = {
  forbidden_target: 'forbidden-address',
  name_not_found: 'unreachable',
  connection_failed: 'unreachable',
  timeout: 'timeout',
  too_large: 'bad-answer',
  redirect_refused: 'bad-answer',
  bad_answer: 'bad-answer',
  cancelled: 'unreachable',
  withdrawn: 'unreachable',
};

/** Converts an error of an outbound call to a `ToolError`. Unknown errors pass unchanged. */
export function toolFailureOf(error: unknown): unknown {
  if (error instanceof EgressError) {
    return new ToolError(failures[error.failure], error.message, {
      mayHaveArrived: !error.neverSent,
      cause: error,
    });
  }
  // An argument made a header invalid. Found before anything was sent.
  if (error instanceof PlatformError && error.code === 'validation_error') {
    return new ToolError('refused', error.message, { cause: error });
  }
  return error;
}
