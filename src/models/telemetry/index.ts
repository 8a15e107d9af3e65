// The public interface of telemetry: reports on a tenant's model calls.
import type { Operation } from '../../http/operations/index.js';
import { telemetryOperations, type TelemetryParts } from './operations.js';

export type { TelemetryParts } from './operations.js';

export function createTelemetry(parts: TelemetryParts): { readonly operations: readonly Operation[] } {
  return { operations: telemetryOperations(parts) };
}
