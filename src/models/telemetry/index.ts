// The public interface of telemetry: reports on a tenant's model calls.
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import { telemetryOperations } from './operations.js';
import { oneCallOperation } from './one-call.js';
import { turnCallOperations } from './turn-calls.js';

export { callsExport } from './exports.js';
export { momentText, partsOf, reportRange } from './range.js';

export function createTelemetry(
  { store, time }: Pick<Platform, 'store' | 'time'>,
  { version }: { readonly version: string },
): { readonly operations: readonly Operation[] } {
  return {
    operations: [
      ...telemetryOperations({ store, time, version }),
      ...turnCallOperations(store),
      oneCallOperation(store),
    ],
  };
}
