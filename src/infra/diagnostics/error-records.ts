import type { Time, Timer } from '../../../cluster/index.js';
import type { Ids } from '../../kernel/chance.js';
import { errorKinds } from '../../kernel/errors.js';
import type { Store } from '../storage/index.js';
import {
  type ErrorFilter,
  type ErrorRow,
  insertErrors,
  listErrors,
  listErrorsOf,
  type ShownError,
} from './error-records.store.js';
import type { RecentError } from './recent-errors.js';
import { storableText } from '../../kernel/storable-text.js';

/** One of the last errors of all nodes. */
export interface ErrorRecord extends RecentError {
  readonly node: string;
  readonly request_id: string | null;
  readonly operation: string | null;
  readonly tenant: string | null;
  readonly execution_id: string | null;
  /** The agent of the turn, or the one that the request named, which may be another tenant's. */
  readonly agent_id: string | null;
  /** The trigger of the turn. */
  readonly trigger_id: string | null;
}

export interface ErrorRecordsParts {
  readonly store: Store;
  readonly time: Pick<Time, 'after' | 'wallMs'>;
  readonly ids: Ids;
  readonly node: string;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Other nodes show an error after this time at the latest. */
const writeEveryMs = 500;
/** A flood of refused requests costs this many rows per write; older ones are dropped, as the list would drop them. */
const waitingMax = 1_000;

/** The last errors of all nodes, in one table. A node writes its own in batches, so that an error costs no query. */
export class ErrorRecords {
  readonly #parts: ErrorRecordsParts;
  #waiting: ErrorRow[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #isAway = false;
  #stopped = false;

  constructor(parts: ErrorRecordsParts) {
    this.#parts = parts;
  }

  /** The error of a request. */
  note({
    id,
    error,
    message,
    timestamp,
    requestId,
    operation,
    tenant,
    agentId = null,
  }: RecentError & {
    readonly requestId: string;
    readonly operation: string;
    readonly tenant: string | undefined;
    readonly agentId?: string | null;
  }): void {
    const row = { id, error, message, timestamp, operation, tenant: tenant ?? null };
    const about = { agent_id: agentId, trigger_id: null };
    this.#add({ ...row, ...about, request_id: requestId, execution_id: null });
  }

  /** A turn that failed: nobody's request did, because its stream or trigger had been answered. */
  noteTurn({
    tenantId,
    executionId,
    agentId,
    triggerId,
    code,
  }: {
    readonly tenantId: string;
    readonly executionId: string;
    readonly agentId: string;
    readonly triggerId: string | null;
    readonly code: string;
  }): void {
    const known = Object.entries(errorKinds).find(([kind]) => kind === code);
    this.#add({
      id: this.#parts.ids.uuid(),
      error: code,
      message: known?.[1].message ?? 'A turn failed.',
      timestamp: new Date(this.#parts.time.wallMs()).toISOString(),
      operation: 'turns.run',
      tenant: tenantId,
      request_id: null,
      execution_id: executionId,
      agent_id: agentId,
      trigger_id: triggerId,
    });
  }

  /** Newest first, with all that this node has noted. */
  async list(limit: number): Promise<readonly ErrorRecord[]> {
    await this.#write();
    return (await listErrors(this.#parts.store, limit)).map(recordOf);
  }

  /** Those of one tenant, newest first. */
  async listOf(tenantId: string, filter: ErrorFilter): Promise<readonly ErrorRecord[]> {
    await this.#write();
    return (await listErrorsOf(this.#parts.store, tenantId, filter)).map(recordOf);
  }

  /** Writes what is noted; call it before the store is closed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#writeQuietly();
  }

  #add(row: ErrorRow): void {
    // All errors of a node are one statement: a text that cannot be stored, as a cut one, would hold up those of all.
    this.#waiting.push({ ...row, message: storableText(row.message) });
    if (this.#waiting.length > waitingMax) this.#waiting.shift();
    this.#arm();
  }

  #arm(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#timer = this.#parts.time.after(writeEveryMs, () => {
      this.#timer = undefined;
      void this.#writeQuietly();
    });
  }

  /** Errors wait for the next write while the database is away; that it is away is reported once. */
  async #writeQuietly(): Promise<void> {
    try {
      await this.#write();
      this.#isAway = false;
    } catch (error) {
      if (!this.#isAway) this.#parts.report('recording errors', error);
      this.#isAway = true;
      this.#arm();
    }
  }

  /** One write at a time, in order. */
  #write(): Promise<void> {
    const written = this.#writing.then(async () => {
      const rows = this.#waiting;
      if (rows.length === 0) return;
      this.#waiting = [];
      try {
        const { store, node, time } = this.#parts;
        await insertErrors(store, node, rows, new Date(time.wallMs()));
      } catch (error) {
        this.#waiting = [...rows, ...this.#waiting].slice(-waitingMax);
        throw error;
      }
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }
}

function recordOf({ at, ...row }: ShownError): ErrorRecord {
  return { ...row, timestamp: at.toISOString() };
}
