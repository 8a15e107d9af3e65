/**
 * The ledger of model calls. A row is opened before the vendor is asked and closed before the answer ends, so an
 * attempt whose process dies in between leaves an open row. After its deadline such a row is closed with the estimate
 * that it was opened with. Rows of many calls are written together.
 */
import type { Timer } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Platform } from '../../infra/platform/index.js';
import { type BatchWriter, StoreError } from '../../infra/storage/index.js';
import { type CallRow, callTarget } from './calls.store.js';
import type { LedgerRows } from './ledger-rows.js';
import { type UnrecordedSpan, unrecordedTarget } from './unrecorded.store.js';
import {
  type Recorded,
  ledgerTarget,
  type ClosedRow,
  type ClosingRow,
  type OpenedRow,
  type Orphan,
  orphanTarget,
  nothingRecorded,
  type RecordedRow,
} from './usage.store.js';

export interface LedgerOptions {
  /** Whether a process is certainly gone and cannot close its open rows. */
  readonly isGone?: (processId: string) => boolean;
}

type LedgerPlatform = Pick<Platform, 'time' | 'log'> & {
  readonly writers: Pick<Platform['writers'], 'writer'>;
  readonly rows: LedgerRows;
};

/** Long enough for a busy store. An unreachable store has already refused the call, when keys and counts were read. */
const writeMsMax = 8_000;
const recordingMsMax = 3_000;
const sweepEveryMs = 15_000;
const partitionsEveryMs = 6 * 3_600_000;
/** Only a process that died leaves unrecorded calls, so the search is rare. The first search covers one day. */
const unrecordedEveryMs = 600_000;
const unrecordedAtStartMs = 86_400_000;
/** Rows that were closed long after their deadline, since the store was unreachable, are found within this overlap. */
const unrecordedOverlapMs = 300_000;
const sweepRowsMax = 500;
/** Closings and other rows that wait for the store. Beyond this number rows are closed with their estimates. */
const lateMax = 50_000;

/** The closing of an attempt and its opening, which may have to be written again. */
interface Closing {
  readonly row: ClosingRow;
  readonly opened: OpenedRow | undefined;
}

export class Ledger {
  readonly #parts: LedgerPlatform & LedgerOptions & Pick<Platform['log'], 'report'>;
  readonly #rows: BatchWriter<OpenedRow | ClosingRow, Recorded>;
  readonly #orphans: BatchWriter<Orphan, 'closed'>;
  readonly #calls: BatchWriter<CallRow, 'recorded'>;
  /** Closings that the store has not accepted, by attempt. */
  readonly #late = new Map<string, Closing>();
  /** Attempts that were not made and whose rows may be there or still appear, by attempt. */
  readonly #withdrawn = new Map<string, OpenedRow>();
  /** Calls that the store has not recorded, by call. */
  readonly #unrecorded = new Map<string, CallRow>();
  #partitionsAtMs = Number.NEGATIVE_INFINITY;
  readonly #unrecordedSpans: BatchWriter<UnrecordedSpan, 'looked'>;
  #unrecordedAtMs = Number.NEGATIVE_INFINITY;
  #unrecordedSinceMs: number | undefined;
  #timer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(platform: LedgerPlatform, options: LedgerOptions = {}) {
    const { writers } = platform;
    this.#parts = { ...platform, ...options, report: platform.log.report };
    this.#rows = writers.writer(ledgerTarget, { deadlineMs: writeMsMax });
    this.#orphans = writers.writer(orphanTarget, { deadlineMs: writeMsMax });
    this.#calls = writers.writer(callTarget, { deadlineMs: recordingMsMax });
    this.#unrecordedSpans = writers.writer(unrecordedTarget, { deadlineMs: writeMsMax });
  }

  /**
   * Resolves once the row is committed and survives this process. An attempt that cannot be recorded is not made: if the
   * store is unreachable, the call is refused.
   */
  async open(opened: OpenedRow): Promise<void> {
    try {
      await this.#rows.write(opened);
    } catch (error) {
      // The row may have been committed; it must not count as a call that was made.
      if (error instanceof StoreError && error.failure === 'outcome-unknown') this.#withdrawLater(opened);
      throw refusal(error);
    }
  }

  /**
   * For a call that was not made after all; resolves once the removal is durable. The row goes: a closed one counts as an
   * attempt. A missing row may belong to a commit whose answer was lost and which is still to come, and such a commit may
   * repeat one that was seen, so the row is searched once more.
   */
  async withdraw(opened: OpenedRow): Promise<void> {
    this.#withdrawLater(opened);
    try {
      await this.#parts.rows.remove(opened);
    } catch (error) {
      throw refusal(error);
    }
  }

  /**
   * Resolves once the row and the counter of its month are durable. If this was the call's only attempt, `recorded` is
   * written in the same commit. A row that PostgreSQL lost is written again from `opened`.
   */
  async close(row: ClosedRow, recorded: RecordedRow = nothingRecorded, opened?: OpenedRow): Promise<void> {
    const both = { row: closing(row, recorded), opened };
    try {
      await this.#close(both);
    } catch (error) {
      if (recorded !== nothingRecorded && !canSucceedLater(error)) {
        // The tenant is gone and the call cannot be recorded, but the row can still be closed.
        this.#parts.report('recording a model call', error);
        return this.close(row, nothingRecorded, opened);
      }
      this.#closeLater(both);
      throw refusal(error);
    }
  }

  async #close({ row, opened }: Closing): Promise<void> {
    if ((await this.#rows.write(row)) === 'booked' || opened === undefined) return;
    try {
      await this.#rows.write(opened);
    } catch (error) {
      if (canSucceedLater(error)) throw error;
      // Nothing is lost: the tenant is gone, and its rows with it.
      this.#parts.report('opening a usage row again', error);
      return;
    }
    if ((await this.#rows.write(row)) === 'missing') await this.#reportForeign(row, opened);
  }

  /** Most rows that cannot be closed are closed already, by an earlier write of the closing or with the estimate. */
  async #reportForeign(row: ClosingRow, opened: OpenedRow): Promise<void> {
    try {
      if (!(await this.#parts.rows.isOfAnother(opened))) return;
    } catch (error) {
      this.#parts.report('reading a usage row that could not be closed', error);
      return;
    }
    const { attempt_id: attempt, tenant_id: tenant, input_tokens: input, output_tokens: output, cost } = row;
    this.#parts.report(
      'closing a usage row',
      new Error(
        `Another attempt has the id ${attempt} of an attempt of the tenant ${tenant}, so no row holds what this one used: ${input} input and ${output} output tokens, ${cost} dollars.`,
      ),
    );
  }

  /**
   * Resolves once the call's row is durable. An answered call is not refused because this row is missing: if the store
   * does not accept it now, it is written later.
   */
  async record(row: CallRow): Promise<void> {
    try {
      await this.#calls.write(row);
    } catch (error) {
      if (!canSucceedLater(error)) this.#parts.report('recording a model call', error);
      else if (this.#unrecorded.size < lateMax) this.#unrecorded.set(row.call_id, row);
    }
  }

  /** Sweeps now, for rows that an earlier process left open, and then periodically. */
  start(): void {
    const tick = (): void => {
      this.#sweeping = this.#preparePartitions()
        .then(() => this.sweep())
        .then(() => undefined)
        .catch((error: unknown) => this.#parts.report('closing usage rows that were left open', error))
        .finally(() => {
          if (!this.#stopped) this.#timer = this.#parts.time.after(sweepEveryMs, tick);
        });
    };
    tick();
  }

  /** Returns how many rows it closed. */
  async sweep(): Promise<number> {
    let closed = 0;
    for (const [attemptId, late] of this.#late) {
      await this.#catchUp('closing a usage row', () => this.#close(late));
      this.#late.delete(attemptId);
      closed += 1;
    }
    for (const [attemptId, row] of this.#withdrawn) {
      await this.#catchUp('withdrawing a usage row', () => this.#parts.rows.remove(row));
      this.#withdrawn.delete(attemptId);
    }
    for (const row of this.#unrecorded.values()) {
      await this.#catchUp('recording a model call', () => this.#calls.write(row));
      this.#unrecorded.delete(row.call_id);
    }
    const gone = await this.#goneProcesses();
    for (;;) {
      const orphans = await this.#parts.rows.orphans(gone, sweepRowsMax);
      await Promise.all(orphans.map((orphan) => this.#orphans.write(orphan)));
      closed += orphans.length;
      if (orphans.length < sweepRowsMax) break;
    }
    await this.#recordUnrecorded();
    return closed;
  }

  async #recordUnrecorded(): Promise<void> {
    const { time } = this.#parts;
    if (time.monotonicMs() - this.#unrecordedAtMs < unrecordedEveryMs) return;
    const untilMs = time.wallMs();
    const sinceMs = this.#unrecordedSinceMs ?? untilMs - unrecordedAtStartMs;
    const span = { since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() };
    await this.#unrecordedSpans.write(span);
    this.#unrecordedAtMs = time.monotonicMs();
    this.#unrecordedSinceMs = untilMs - unrecordedOverlapMs;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#sweeping;
  }

  /** A row that the store will never accept, such as one of a deleted tenant, must not block the others forever. */
  async #catchUp(attempted: string, write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (canSucceedLater(error)) throw error;
      this.#parts.report(attempted, error);
    }
  }

  async #goneProcesses(): Promise<readonly string[]> {
    const { isGone, rows } = this.#parts;
    return isGone === undefined ? [] : (await rows.processes()).filter(isGone);
  }

  async #preparePartitions(): Promise<void> {
    const { time, rows } = this.#parts;
    if (time.monotonicMs() - this.#partitionsAtMs < partitionsEveryMs) return;
    await rows.preparePartitions(new Date(time.wallMs()));
    this.#partitionsAtMs = time.monotonicMs();
  }

  #closeLater(late: Closing): void {
    if (this.#late.size < lateMax) this.#late.set(late.row.attempt_id, late);
  }

  #withdrawLater(opened: OpenedRow): void {
    if (this.#withdrawn.size < lateMax) this.#withdrawn.set(opened.attempt_id, opened);
  }
}

/** Written out, since spreading objects of this size is slow. */
function closing(row: ClosedRow, recorded: RecordedRow): ClosingRow {
  return {
    tenant_id: row.tenant_id,
    attempt_id: row.attempt_id,
    opened_at: row.opened_at,
    outcome: row.outcome,
    closed_at: row.closed_at,
    input_tokens: row.input_tokens,
    cache_read_tokens: row.cache_read_tokens,
    cache_write_tokens: row.cache_write_tokens,
    output_tokens: row.output_tokens,
    reasoning_tokens: row.reasoning_tokens,
    cost: row.cost,
    usage_source: row.usage_source,
    stop_reason: row.stop_reason,
    failure: row.failure,
    vendor_request_id: row.vendor_request_id,
    first_signal_ms: row.first_signal_ms,
    duration_ms: row.duration_ms,
    response_time_ms: recorded.response_time_ms,
    input_preview: recorded.input_preview,
    output_preview: recorded.output_preview,
  };
}

/** Whether a later write of the same row can succeed. */
function canSucceedLater(error: unknown): boolean {
  return error instanceof StoreError && (error.retryable || error.failure === 'outcome-unknown');
}

function refusal(cause: unknown): unknown {
  if (!(cause instanceof StoreError)) return cause;
  return new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause });
}
