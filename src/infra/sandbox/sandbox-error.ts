import type { TaskFailure } from './protocol.js';

/** A task without a result. Other tasks are not affected. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
