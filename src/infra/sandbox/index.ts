// Text that tenants write, such as expressions and schemas, is evaluated in child processes.
import { Sandbox, type SandboxOptions } from './sandbox.js';

export type { Sandbox, SandboxOptions, SandboxTask, TaskInput } from './sandbox.js';
export { SandboxError } from './sandbox-error.js';

/** Child processes are started on first use. */
export function createSandbox(options: SandboxOptions): Sandbox {
  return new Sandbox(options);
}
