// Ledger rows as attempts and calls write them, with the test's changes.
import { randomUUID } from 'node:crypto';
import type { CallRow, ClosedRow, OpenedRow } from '../../../src/models/usage/index.js';
import { ownerView } from './owner-view.js';

export function opened(tenantId: string, changes: Partial<OpenedRow> = {}): OpenedRow {
  return {
    tenant_id: tenantId,
    attempt_id: randomUUID(),
    call_id: randomUUID(),
    attempt_number: 1,
    source: 'direct',
    key_id: null,
    user_id: null,
    agent_id: null,
    session_id: null,
    execution_id: null,
    process_id: 'a process',
    vendor: 'sim',
    model: 'sim.echo',
    payer: 'platform',
    month: '2026-11-01',
    opened_at: '2026-11-30T23:59:59Z',
    deadline_at: '2999-01-01T00:00:00Z',
    input_estimate: 70,
    output_estimate: 7,
    cost_estimate: 0.5,
    ...changes,
  };
}

export function closed(
  { tenant_id, attempt_id, opened_at }: OpenedRow,
  changes: Partial<ClosedRow> = {},
): ClosedRow {
  return {
    tenant_id,
    attempt_id,
    opened_at,
    outcome: 'completed',
    closed_at: '2026-12-01T00:00:01Z',
    input_tokens: 10,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 5,
    reasoning_tokens: 0,
    cost: 0,
    usage_source: 'reported',
    stop_reason: 'stop',
    failure: null,
    vendor_request_id: null,
    first_signal_ms: 1,
    duration_ms: 2,
    ...changes,
  };
}

export function call(tenantId: string, changes: Partial<CallRow> = {}): CallRow {
  return {
    tenant_id: tenantId,
    started_at: '2026-11-30T23:59:59Z',
    call_id: randomUUID(),
    key_id: null,
    user_id: null,
    agent_id: null,
    session_id: null,
    execution_id: null,
    call_source: 'direct',
    provider: 'sim',
    model: 'sim.echo',
    first_model: 'sim.echo',
    status: 'success',
    failure: null,
    from_cache: false,
    attempts: 1,
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 0,
    cache_creation_tokens: 0,
    cost: 0,
    response_time_ms: 12.5,
    input_preview: 'hello',
    output_preview: 'echo: hello',
    ...changes,
  };
}

export interface BookedUsage {
  readonly attempts: number;
  readonly input: number;
  readonly output: number;
}

/** The sums of the closed rows of a turn. */
export async function bookedFor(databaseUrl: string, executionId: string): Promise<BookedUsage | undefined> {
  const owner = await ownerView(databaseUrl);
  try {
    const { rows } = await owner.query<{ attempts: number; input: number; output: number }>(
      `select count(*)::int as attempts, coalesce(sum(input_tokens), 0)::int as input,
         coalesce(sum(output_tokens), 0)::int as output
       from usage_rows where execution_id = $1 and closed_at is not null`,
      [executionId],
    );
    return rows[0];
  } finally {
    await owner.end();
  }
}
