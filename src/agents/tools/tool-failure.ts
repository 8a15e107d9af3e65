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
};

/** What stopped a call to the outside, in the words of tools; what nobody foresaw passes unchanged. */
export function toolFailureOf(error: unknown): unknown {
  if (error instanceof EgressError) {
    return new ToolError(failures[error.failure], error.message, {
      mayHaveArrived: !error.neverSent,
      cause: error,
    });
  }
  // A header that an argument made impossible, found before anything was sent.
  if (error instanceof PlatformError && error.code === 'validation_error') {
    return new ToolError('refused', error.message, { cause: error });
  }
  return error;
}
