import type { TaskFailure } from './protocol.js';

/** A task that came to no result. It has harmed nobody else. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
