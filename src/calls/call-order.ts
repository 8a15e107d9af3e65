import type { TenantLimits } from '../context/caller.js';
import type { TenantScope } from '../context/tenant-scope.js';
import type { LlmRequest } from '../llm/index.js';

/** A model call that somebody in a tenant wants. */
export interface CallOrder {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  /** What it is for, as usage rows and telemetry name it: `direct`, … */
  readonly source: string;
  readonly keyId: string | null;
  readonly userId: string | null;
  /** `auto`, or the id of a model. */
  readonly model: string;
  readonly provider: string | undefined;
  readonly request: LlmRequest;
  readonly signal: AbortSignal;
}
