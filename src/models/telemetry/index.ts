// The face of telemetry: what tenants may ask of the calls that they made.
import type { Operation } from '../../http/operations/index.js';
import { telemetryOperations, type TelemetryParts } from './operations.js';

export type { TelemetryParts } from './operations.js';

export function createTelemetry(parts: TelemetryParts): { readonly operations: readonly Operation[] } {
  return { operations: telemetryOperations(parts) };
}
