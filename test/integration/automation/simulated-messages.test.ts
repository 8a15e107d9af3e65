// The rows of messages and deliveries as the simulation holds them, against PostgreSQL: the same drawn statements of two
// processes, the same answers.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import type { AcceptedRow } from '../../../src/automation/inbox/accept-target.js';
import type { ClaimedDelivery, NewDelivery, Next } from '../../../src/automation/outbox/deliveries.store.js';
import type { QueueRow } from '../../../src/automation/outbox/delivery-queue-target.js';
import type { FinishedRow } from '../../../src/automation/outbox/finish-target.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { MessageTables } from '../../simulation/conversations/message-tables.js';
import { keyOf, SessionTables } from '../../simulation/conversations/session-tables.js';
import { UsageTables } from '../../simulation/conversations/usage-tables.js';
import {
  begunDelivery,
  drawnFailure,
  drawnMessage,
  drawnReply,
  holdMs,
  insertTakenOver,
  type MessageProcess,
  openProcess,
  refusedMessage,
} from '../../support/builders/message-process.js';
import { databaseOfFile } from '../../support/database/database.js';
import { hourMs, simulatedRows, storedRows } from '../../support/database/message-rows.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
const names = ['one process', 'another process'] as const;
const steps = 240;
test('drawn statements on messages and deliveries leave the same rows in PostgreSQL and in the simulated store', async (t) => {
  const view = await ownerView(database.url);
  database.atEnd(() => view.end());
  const now = (): number => Date.now();
  const sessions = new SessionTables(new UsageTables(now), now);
  const tables = new MessageTables(sessions, now);
  const processes = [
    await openProcess(database, names[0], tables),
    await openProcess(database, names[1], tables),
  ];
  const drawn = new DrawnStatements(t, view, { tables, sessions }, processes);
  await drawn.prepare();
  for (let step = 0; step < steps; step += 1) {
    await drawn.step(step);
    await drawn.sameRows(step);
  }
  for (const [what, count] of drawn.counts) t.true(count > 0, `${what}: ${count} times`);
});

/** Draws statements, makes them on both sides and compares the answers. */
class DrawnStatements {
  readonly counts = new Map(
    ['accepted', 'present', 'taken over', 'left behind', 'begun', 'waits', 'first', 'late', 'failed'].map(
      (what) => [what, 0],
    ),
  );
  readonly #random = new SeededRandom(20_261_124);
  readonly #t: ExecutionContext;
  readonly #view: pg.Client;
  readonly #tables: MessageTables;
  readonly #sessionTables: SessionTables;
  readonly #processes: readonly MessageProcess[];
  readonly #tenants = [randomUUID(), randomUUID()];
  readonly #sessions = Array.from({ length: 8 }, () => randomUUID());
  /** Its messages are refused. */
  readonly #takenOver = randomUUID();
  readonly #trigger = randomUUID();
  #accepted: AcceptedRow[] = [];
  readonly #finished: FinishedRow[] = [];
  readonly #begun: { readonly tenantId: string; readonly delivery: ClaimedDelivery }[] = [];
  readonly #asked: QueueRow[] = [];
  /** The position that PostgreSQL gave to a message, by the simulated one, of each tenant. */
  readonly #places = new Map<number, number>();

  constructor(
    t: ExecutionContext,
    view: pg.Client,
    simulated: { readonly tables: MessageTables; readonly sessions: SessionTables },
    processes: readonly MessageProcess[],
  ) {
    this.#t = t;
    this.#view = view;
    this.#tables = simulated.tables;
    this.#sessionTables = simulated.sessions;
    this.#processes = processes;
  }

  async prepare(): Promise<void> {
    for (const id of this.#tenants) {
      await insertTakenOver(this.#view, id, this.#takenOver);
      const row = { tenant_id: id, id: this.#takenOver, control_mode: 'manual_handoff' };
      this.#sessionTables.rows.sessions.set(keyOf(id, this.#takenOver), row as never);
    }
  }

  async step(step: number): Promise<void> {
    const process = this.#random.pick(this.#processes);
    const accept = () => this.#accept(process);
    const finish = () => this.#finish(process);
    const sendOn = () => this.#sendOn(process);
    const change = () => this.#change(process);
    const [claim, look] = [() => this.#claim(process), () => this.#look(process)];
    const kinds = [accept, accept, finish, finish, finish, finish, sendOn, sendOn, sendOn];
    kinds.push(change, change, claim, look);
    await (kinds[step] ?? this.#random.pick(kinds))();
  }

  async #accept({ name, real }: MessageProcess): Promise<void> {
    const random = this.#random;
    const batch = Array.from({ length: random.between(1, 4) }, () =>
      this.#accepted.length > 0 && random.chance(0.2) ? random.pick(this.#accepted) : this.#newMessage(),
    );
    // Tenant by tenant, as the writer takes them.
    const tenant = random.pick(this.#tenants);
    const rows = batch.map((row) => ({ ...row, tenant_id: tenant }));
    const stored = await Promise.all(rows.map((row) => real.accepts.write(row)));
    const simulated = this.#tables.inbox.accept(name, rows);
    this.#t.deepEqual(
      simulated.map(({ fate }) => fate),
      stored.map(({ fate }) => fate),
    );
    for (const [at, { fate, seq }] of stored.entries()) {
      this.#count(fate);
      const [row, twin] = [rows[at], simulated[at]];
      if (fate !== 'accepted' || row === undefined || twin === undefined) continue;
      this.#places.set(twin.seq, seq);
      this.#accepted.push(row);
      if (random.chance(0.8)) await this.#addExecution(row);
    }
    const places = [...this.#places].toSorted(([one], [other]) => one - other).map(([, seq]) => seq);
    this.#t.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
  }

  #newMessage(): AcceptedRow {
    const random = this.#random;
    const session = random.chance(0.15) ? this.#takenOver : random.pick(this.#sessions);
    return drawnMessage(random, this.#trigger, session);
  }

  #failure(message: AcceptedRow): NewDelivery {
    const { tenant_id, trigger_id, key } = message;
    const place = this.#tables.inbox.rows.get(`${tenant_id} ${trigger_id} ${key}`)?.seq ?? 0;
    return drawnFailure(this.#random, message, place);
  }

  async #addExecution({ tenant_id, execution_id, session_id }: AcceptedRow): Promise<void> {
    await this.#view.query(
      `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, status, outcome, due_at, input,
          channel, created_at, finished_at)
        values ($1, $2, $3, $1, 0, 0, 'completed', 'COMPLETED', now(), '{}', 'webhook', now(), now())`,
      [tenant_id, execution_id, session_id],
    );
    const key = keyOf(tenant_id, execution_id ?? '');
    this.#sessionTables.rows.executions.set(key, { id: execution_id } as never);
  }

  /** Ends of messages: new ones, the same again after a lost answer, and ends of one message by two processes. */
  async #finish({ name, real }: MessageProcess): Promise<void> {
    const random = this.#random;
    const known = new Set<string>();
    const batch = Array.from({ length: random.between(1, 4) }, () => this.#end()).filter((row) => {
      const isNew = row !== undefined && !known.has(row.key ?? '');
      if (isNew) known.add(row.key ?? '');
      return isNew;
    }) as FinishedRow[];
    if (batch.length === 0) return;
    this.#finished.push(...batch);
    const placed = batch.map((row): FinishedRow => {
      const place = row.answer && (this.#places.get(row.answer.place) ?? 0);
      return { ...row, answer: row.answer && { ...row.answer, place: place ?? 0 } };
    });
    const stored = await Promise.all(placed.map((row) => real.finishes.write(row)));
    const simulated = this.#tables.outbox.finish(name, batch, holdMs);
    const shape = (finish: { readonly begunAt: Date | undefined; readonly waits: boolean }) => ({
      hasBegun: finish.begunAt !== undefined,
      waits: finish.waits,
    });
    this.#t.deepEqual(simulated.map(shape), stored.map(shape));
    for (const [at, { begunAt, waits }] of stored.entries()) {
      const row = batch[at];
      if (waits) this.#count('waits');
      if (begunAt === undefined || row?.answer === undefined) continue;
      this.#count('begun');
      const delivery = begunDelivery(row, row.answer, begunAt);
      this.#begun.push({ tenantId: row.tenant_id, delivery });
    }
  }

  #end(): FinishedRow | undefined {
    const random = this.#random;
    if (this.#finished.length > 0 && random.chance(0.25)) return random.pick(this.#finished);
    if (this.#accepted.length === 0) return undefined;
    const { tenant_id, trigger_id, key, session_id, execution_id } = random.pick(this.#accepted);
    const place = this.#tables.inbox.rows.get(`${tenant_id} ${trigger_id} ${key}`)?.seq ?? 0;
    return {
      tenant_id,
      trigger_id,
      session_id,
      key,
      kept: random.chance(0.5) ? undefined : { status: 200, contentType: 'text/plain', body: 'kept' },
      reply: random.chance(0.5) ? Buffer.from(random.id()) : undefined,
      mail: undefined,
      answer: random.chance(0.2)
        ? undefined
        : {
            id: randomUUID(),
            executionId: execution_id ?? '',
            place,
            chunkTotal: random.between(1, 2),
            truncated: false,
            sealed: Buffer.from(random.id()),
            mayBegin: random.chance(0.7),
          },
    };
  }

  async #sendOn({ name, real }: MessageProcess): Promise<void> {
    const random = this.#random;
    const rows = new Map<string, QueueRow>();
    for (let count = random.between(1, 3); count > 0; count -= 1) {
      const row = this.#queueRow();
      rows.set(`${row.tenant_id} ${row.session_id}`, row);
    }
    const batch = [...rows.values()];
    this.#asked.push(...batch);
    const stored = await Promise.all(batch.map((row) => real.queues.write(row)));
    const simulated = this.#tables.outbox.sendOn(name, batch, holdMs);
    for (const [at, { ageMs, first, dueInMs }] of stored.entries()) {
      const [row, twin] = [batch[at], simulated[at]];
      if (row === undefined || twin === undefined) continue;
      const shape = (state: typeof twin) => ({
        hasMoved: state.ageMs !== undefined,
        first: state.first && { ...state.first, created_at: undefined },
        isDue: state.dueInMs === undefined ? undefined : state.dueInMs <= 0,
      });
      this.#t.deepEqual(shape(twin), shape({ ageMs, first, dueInMs }));
      if (row.ended !== undefined && ageMs === undefined) this.#count('late');
      if (first !== undefined) {
        this.#count('first');
        this.#begun.push({ tenantId: row.tenant_id, delivery: first });
      }
    }
  }

  #queueRow(): QueueRow {
    const random = this.#random;
    if (this.#asked.length > 0 && random.chance(0.1))
      return { ...random.pick(this.#asked), ended: undefined };
    const claim = randomUUID();
    const continues = random.chance(0.85);
    const one = this.#begun.length > 0 && random.chance(0.6) ? random.pick(this.#begun.slice(-6)) : undefined;
    if (one === undefined)
      return {
        tenant_id: random.pick(this.#tenants),
        session_id: random.pick(this.#sessions),
        claim,
        ended: undefined,
        continues,
      };
    const next: Next = random.pick([
      { step: 'chunk', inMs: 0, heldMs: 0 },
      { step: 'again', inMs: 0 },
      { step: 'again', inMs: 0 },
      { step: 'again', inMs: hourMs },
      { step: 'over', status: 'delivered' },
      { step: 'over', status: 'delivery_failed' },
    ]);
    const end = { statusCode: random.pick([null, 200, 503]), error: random.pick([null, 'it failed']) };
    return {
      tenant_id: one.tenantId,
      session_id: one.delivery.session_id,
      claim,
      continues,
      ended: { delivery: one.delivery, next, end },
    };
  }

  /** What was left behind. */
  async #claim({ real, twin }: MessageProcess): Promise<void> {
    const holdMs = this.#random.pick([0, hourMs]);
    const shape = (rows: Awaited<ReturnType<typeof real.messages.claimLeftBehind>>, isTwin: boolean) =>
      rows
        .map((row) => ({
          ...row,
          age_ms: undefined,
          seq: isTwin ? this.#places.get(row.seq) : row.seq,
        }))
        .toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0));
    const stored = await real.messages.claimLeftBehind(holdMs, 1_000);
    this.#count('left behind', stored.length);
    this.#t.deepEqual(shape(await twin.messages.claimLeftBehind(holdMs, 1_000), true), shape(stored, false));
  }

  /** Single messages, and the claims of whole processes. */
  async #change({ real, twin }: MessageProcess): Promise<void> {
    const random = this.#random;
    if (this.#accepted.length === 0) return;
    const message = random.pick(this.#accepted);
    const scope = tenantScope(message.tenant_id);
    const both = async <Value>(
      make: (side: MessageProcess['real']['messages'], isTwin: boolean) => Promise<Value>,
    ): Promise<void> =>
      void this.#t.deepEqual(await make(twin.messages, true), await make(real.messages, false));
    const execution = refusedMessage(message);
    switch (random.between(0, 8)) {
      case 0: {
        const ids = this.#accepted.filter(() => random.chance(0.3)).map(({ execution_id: id }) => id ?? '');
        const holdMs = random.pick([0, hourMs]);
        return both((rows) => rows.renewClaims(ids, holdMs));
      }
      case 1: {
        const kept = this.#accepted.filter(() => random.chance(0.3)).map(({ execution_id: id }) => id ?? '');
        return both((rows) => rows.releaseOwnClaims(kept));
      }
      case 2: {
        const pauseMs = random.pick([0, hourMs]);
        return both((rows) => rows.reschedule(scope, message, pauseMs));
      }
      case 3: {
        const failure = random.chance(0.5) ? this.#failure(message) : undefined;
        return both((rows, isTwin) =>
          rows.giveUp(scope, { row: message, execution, failure: this.#placed(failure, isTwin) }),
        );
      }
      case 6: {
        const id = random.chance(0.8) ? (message.execution_id ?? '') : randomUUID();
        return both(async (rows, isTwin) => {
          const place = await rows.ownPlace(scope, message, id);
          return isTwin && place !== null ? this.#places.get(place) : place;
        });
      }
      case 4: {
        const reply = drawnReply(random, message);
        return both((rows) =>
          rows.end(scope, { row: message, execution, failure: undefined, reply, kept: undefined }),
        );
      }
      case 5: {
        const failure = this.#failure(message);
        return both((rows, isTwin) => rows.putDelivery(scope, this.#placed(failure, isTwin) ?? failure));
      }
      case 7: {
        const answer = random.chance(0.8) ? this.#failure(message) : undefined;
        return both((rows, isTwin) => {
          const delivery = this.#placed(answer, isTwin);
          return rows.endUnsent(scope, { row: message, delivery, reason: 'it was refused' });
        });
      }
      default: {
        const gone = names.filter(() => random.chance(0.5));
        for (const [at, table] of twin.claims.entries())
          this.#t.is(table.release(gone), (await real.claims[at]?.release(gone)) ?? 0);
      }
    }
  }

  #placed(delivery: NewDelivery | undefined, isTwin: boolean): NewDelivery | undefined {
    if (delivery === undefined || isTwin) return delivery;
    return { ...delivery, inboxSeq: this.#places.get(delivery.inboxSeq) ?? 0 };
  }

  /** What reads find. */
  async #look({ real, twin }: MessageProcess): Promise<void> {
    const byName = (rows: readonly { tenant_id: string; session_id: string }[]) =>
      rows.map((row) => `${row.tenant_id} ${row.session_id}`).toSorted();
    this.#t.deepEqual(
      byName(await twin.deliveries.dueSessions(0, 1_000)),
      byName(await real.deliveries.dueSessions(0, 1_000)),
    );
    for (const tenant of this.#tenants.map(tenantScope)) {
      for (const session of this.#sessions) {
        this.#t.is(
          await twin.deliveries.isUnderWay(tenant, session, hourMs),
          await real.deliveries.isUnderWay(tenant, session, hourMs),
        );
      }
    }
    for (const [at, table] of twin.claims.entries())
      this.#t.deepEqual(table.holders().toSorted(), ((await real.claims[at]?.holders()) ?? []).toSorted());
  }

  async sameRows(step: number): Promise<void> {
    const stored = await storedRows(this.#view, this.#tenants);
    const simulated = simulatedRows(this.#tables, this.#sessionTables, this.#places);
    this.#t.deepEqual(simulated, stored, `rows of step ${step}`);
    const failed = stored.deliveries.filter(({ status }) => status === 'delivery_failed');
    this.counts.set('failed', failed.length);
  }

  #count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }
}
