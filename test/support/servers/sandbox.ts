// Child processes as a node has them, ended with the test.
import type { ExecutionContext } from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/infra/sandbox/index.js';

export const oneTenant: TenantScope = tenantScope('00000000-0000-4000-8000-000000000001');
export const otherTenant: TenantScope = tenantScope('00000000-0000-4000-8000-000000000002');

/** The creator closes it. */
export function newSandbox(options: Partial<SandboxOptions> = {}): Sandbox {
  return createSandbox({
    time: systemTime,
    processes: 2,
    // Busy machines make everything slow; only tests of the budget want to meet it.
    cpuMsPerMinute: 600_000,
    report: (attempted, error) => {
      throw new Error(`not expected: ${attempted}`, { cause: error });
    },
    ...options,
  });
}

/** Tasks without their own time limits: only tests of a limit want to meet it on a busy machine. */
export function patientTasks(sandbox: Sandbox): Pick<Sandbox, 'run'> {
  return {
    run: (tenantId, task, inputOf) => sandbox.run(tenantId, { ...task, timeoutMs: 60_000 }, inputOf),
  };
}

export function startSandbox(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Partial<SandboxOptions> = {},
): Sandbox {
  const sandbox = newSandbox(options);
  t.teardown(() => sandbox.close());
  return sandbox;
}
