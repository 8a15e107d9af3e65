// What tenants write and this platform evaluates is evaluated in child processes.
import { Sandbox, type SandboxOptions } from './sandbox.js';

export type { Sandbox, SandboxOptions, SandboxTask, TaskInput } from './sandbox.js';
export { SandboxError } from './sandbox-error.js';

/** No child process is started before there is something to do. */
export function createSandbox(options: SandboxOptions): Sandbox {
  return new Sandbox(options);
}
