import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Sandbox, SandboxError, type SandboxTask } from '../../infra/sandbox/index.js';
import type { ArgumentsCheck, ArgumentsCheckInput } from './check-arguments.task.js';

const task: SandboxTask<ArgumentsCheckInput, ArgumentsCheck> = {
  module: new URL('./check-arguments.task.js', import.meta.url),
  // Compiling most schemas takes a few milliseconds; some that are allowed take seconds.
  timeoutMs: 3_000,
};

/** The first fault of arguments for a tool with these parameters; undefined if they fit. */
export async function faultOfArguments(
  sandbox: Pick<Sandbox, 'run'>,
  scope: TenantScope,
  parameters: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
): Promise<ArgumentsCheck['fault']> {
  try {
    const input = () => ({ schema: JSON.stringify(parameters), value: JSON.stringify(value) });
    return (await sandbox.run(scope.tenantId, task, input)).fault;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return { at: '', issue: `cannot be checked: ${error.message}` };
  }
}
