import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { JsonObject } from '../../http/operations/index.js';
import { type Sandbox, SandboxError, type SandboxTask } from '../../infra/sandbox/index.js';
import type { JsonSchemaFault, SchemaCheck, SchemaCheckInput } from './check-schema.task.js';

const task: SandboxTask<SchemaCheckInput, SchemaCheck> = {
  module: new URL('./check-schema.task.js', import.meta.url),
  // The largest allowed schema takes about 20 ms.
  timeoutMs: 1_000,
};

/** The first fault of the schema; undefined if it is valid and contains everything that it refers to. */
export async function faultOfJsonSchema(
  sandbox: Pick<Sandbox, 'run'>,
  scope: TenantScope,
  schema: JsonObject,
): Promise<JsonSchemaFault | undefined> {
  try {
    return (await sandbox.run(scope.tenantId, task, () => ({ schema: JSON.stringify(schema) }))).fault;
  } catch (error) {
    // Serializing the schema for the child process exhausted the stack.
    if (error instanceof RangeError) return { at: '', issue: 'is nested too deeply' };
    if (!(error instanceof SandboxError)) throw error;
    return { at: '', issue: `cannot be checked: ${error.message}` };
  }
}
