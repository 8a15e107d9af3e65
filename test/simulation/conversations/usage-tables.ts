// The rows of the ledger in a simulated store, equivalent to its SQL (`test/integration/models/usage/simulated-ledger.test.ts`).
import { StoreError } from '../../../src/infra/storage/index.js';
import type { OpenedRow } from '../../../src/models/usage/index.js';
import type { LedgerRows } from '../../../src/models/usage/ledger-rows.js';
import type { ClosingRow, Orphan, Recorded } from '../../../src/models/usage/usage.store.js';
import type { Transit } from '../../../cluster/simulation/member-store.js';

export interface UsageRow {
  readonly opened: OpenedRow;
  outcome: ClosingRow['outcome'] | 'orphaned' | undefined;
  input: number;
  output: number;
  nanos: number;
}

const nanosPerDollar = 1_000_000_000;

export class UsageTables {
  /** By tenant and attempt. */
  readonly rows = new Map<string, UsageRow>();
  /** Tokens that the platform paid for, by tenant and month. */
  readonly months = new Map<string, number>();
  /** Billionths of a dollar, by tenant and day. */
  readonly days = new Map<string, number>();
  readonly #nowMs: () => number;
  readonly #closesTwice: boolean;

  /** `closesTwice`: a planted bug. */
  constructor(nowMs: () => number, closesTwice = false) {
    this.#nowMs = nowMs;
    this.#closesTwice = closesTwice;
  }

  copy(): () => void {
    const rows = [...this.rows].map(([id, row]) => [id, { ...row }] as const);
    const [months, days] = [[...this.months], [...this.days]];
    return () => {
      replace(this.rows, rows);
      replace(this.months, months);
      replace(this.days, days);
    };
  }

  /** An existing row stays as it is. */
  open(opened: OpenedRow): void {
    const id = idOf(opened);
    if (this.rows.has(id)) return;
    this.rows.set(id, { opened: { ...opened }, outcome: undefined, input: 0, output: 0, nanos: 0 });
  }

  /** A batch of openings and closings: one statement, whose closings do not see the openings beside them. */
  record(batch: readonly (OpenedRow | ClosingRow)[]): readonly Recorded[] {
    const closings = batch.filter((row): row is ClosingRow => 'outcome' in row);
    const closed = new Set<string>();
    for (const closing of closings) if (this.#close(closing, closed)) closed.add(idOf(closing));
    for (const row of batch) if (!('outcome' in row)) this.open(row);
    return batch.map((row) => ('outcome' in row && !closed.has(idOf(row)) ? 'missing' : 'booked'));
  }

  /** Closes with the estimates of the opening what is still open. */
  closeOrphans(batch: readonly Orphan[]): readonly 'closed'[] {
    for (const orphan of batch) {
      const row = this.rows.get(idOf(orphan));
      if (row === undefined || row.outcome !== undefined) continue;
      const { input_estimate: input, output_estimate: output, cost_estimate: cost } = row.opened;
      this.#settle(row, { outcome: 'orphaned', input, output, cost });
    }
    return batch.map(() => 'closed');
  }

  /** A closed row stays. */
  remove(opened: OpenedRow): void {
    if (this.rows.get(idOf(opened))?.outcome === undefined) this.rows.delete(idOf(opened));
  }

  client(transit: Transit): LedgerRows {
    return {
      processes: () => transit(() => [...new Set(this.openRows().map(({ opened }) => opened.process_id))]),
      orphans: (gone, rowsMax) => transit(() => this.orphans(gone, rowsMax)),
      remove: (row) =>
        transit(() => this.remove(row)).catch((cause: unknown) => {
          throw new StoreError('unavailable', 'The connection was lost', { cause });
        }),
      isOfAnother: (row) => transit(() => this.isOfAnother(row)),
      preparePartitions: () => Promise.resolve(),
    };
  }

  isOfAnother(opened: OpenedRow): boolean {
    const row = this.rows.get(idOf(opened));
    return row !== undefined && Date.parse(row.opened.opened_at) !== Date.parse(opened.opened_at);
  }

  orphans(gone: readonly string[], rowsMax: number): readonly Orphan[] {
    return this.openRows()
      .filter(
        ({ opened }) => Date.parse(opened.deadline_at) < this.#nowMs() || gone.includes(opened.process_id),
      )
      .toSorted((one, other) => Date.parse(one.opened.deadline_at) - Date.parse(other.opened.deadline_at))
      .slice(0, rowsMax)
      .map(({ opened: { tenant_id, attempt_id } }) => ({ tenant_id, attempt_id }));
  }

  openRows(): readonly UsageRow[] {
    return [...this.rows.values()].filter(({ outcome }) => outcome === undefined);
  }

  #close(closing: ClosingRow, closed: ReadonlySet<string>): boolean {
    const row = this.rows.get(idOf(closing));
    if (row === undefined || Date.parse(row.opened.opened_at) !== Date.parse(closing.opened_at)) return false;
    if (row.outcome !== undefined && !this.#closesTwice) return closed.has(idOf(closing));
    const { outcome, input_tokens: input, output_tokens: output, cost } = closing;
    this.#settle(row, { outcome, input, output, cost });
    return true;
  }

  #settle(
    row: UsageRow,
    end: Pick<UsageRow, 'outcome' | 'input' | 'output'> & { readonly cost: number },
  ): void {
    const { payer, tenant_id: tenant, month, opened_at: openedAt } = row.opened;
    row.outcome = end.outcome;
    row.input = end.input;
    row.output = end.output;
    row.nanos = Math.round(end.cost * nanosPerDollar);
    if (payer === 'platform') add(this.months, `${tenant} ${month.slice(0, 7)}`, end.input + end.output);
    add(this.days, `${tenant} ${new Date(openedAt).toISOString().slice(0, 10)}`, row.nanos);
  }
}

function idOf({ tenant_id: tenant, attempt_id: attempt }: Orphan): string {
  return `${tenant} ${attempt}`;
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  if (amount > 0) sums.set(name, (sums.get(name) ?? 0) + amount);
}

function replace<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
