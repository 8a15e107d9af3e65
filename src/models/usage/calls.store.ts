import { type BatchTarget, insertTarget } from '../../infra/storage/index.js';
import { callFacts, hoursAdded } from './hours.store.js';

/** A model call as telemetry stores it. Times are ISO 8601, as the columns take them. */
export interface CallRow {
  readonly tenant_id: string;
  /** The time at which its first attempt was opened. */
  readonly started_at: string;
  readonly call_id: string;
  readonly key_id: string | null;
  readonly user_id: string | null;
  readonly agent_id: string | null;
  readonly session_id: string | null;
  readonly execution_id: string | null;
  readonly call_source: string;
  readonly provider: string;
  readonly model: string;
  readonly first_model: string;
  readonly status: 'success' | 'error';
  readonly failure: string | null;
  readonly from_cache: boolean;
  readonly attempts: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cache_creation_tokens: number;
  readonly cost: number;
  readonly response_time_ms: number;
  readonly input_preview: string;
  readonly output_preview: string;
}

const inserted = insertTarget<CallRow>({
  table: 'calls',
  columns: {
    tenant_id: 'uuid',
    started_at: 'timestamptz',
    call_id: 'uuid',
    key_id: 'uuid',
    user_id: 'uuid',
    agent_id: 'uuid',
    session_id: 'uuid',
    execution_id: 'uuid',
    call_source: 'text',
    provider: 'text',
    model: 'text',
    first_model: 'text',
    status: 'text',
    failure: 'text',
    from_cache: 'bool',
    attempts: 'int4',
    input_tokens: 'int8',
    output_tokens: 'int8',
    cached_tokens: 'int8',
    cache_creation_tokens: 'int8',
    cost: 'float8',
    response_time_ms: 'float8',
    input_preview: 'text',
    output_preview: 'text',
  },
  key: ['tenant_id', 'started_at', 'call_id'],
  also: [hoursAdded(callFacts)],
  bytesOf: ({ input_preview, output_preview }) => 500 + input_preview.length + output_preview.length,
});

/** A call is recorded once and counted once in its hour, however often the same row is written. */
export const callTarget: BatchTarget<CallRow, 'recorded'> = {
  ...inserted,
  outcomes: (rows) => rows.map(() => 'recorded'),
};
