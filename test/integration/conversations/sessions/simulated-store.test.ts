// The rows of sessions as the simulation holds them, against PostgreSQL: the same drawn writes, the same answers.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import {
  activationId,
  type ActivateRequest,
  actorAddress,
  actorKind,
  clusterConfig,
  type Fence,
  PostgresFenceStore,
  revision,
  slot,
  slotCount,
  SlotSet,
  systemTime,
} from '../../../../cluster/index.js';
import { MemoryFenceStore } from '../../../../cluster/simulation/fence-store.js';
import { SeededRandom } from '../../../../cluster/simulation/virtual-time.js';
import {
  type UnfinishedTurn,
  unfinishedTurns,
} from '../../../../src/conversations/sessions/recovery.store.js';
import type {
  ExecutionRow,
  MessageRow,
  SessionLoad,
  SessionLoaded,
  SessionRow,
  SessionWrite,
  StepRow,
} from '../../../../src/conversations/sessions/rows.js';
import { sessionTables } from '../../../../src/conversations/sessions/session.store.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { SessionTables } from '../../../simulation/conversations/session-tables.js';
import { UsageTables } from '../../../simulation/conversations/usage-tables.js';
import { startTurns } from '../../../support/builders/turns.js';
import { databaseOfFile, databaseConnectMs } from '../../../support/database/database.js';
import { opened } from '../../../support/database/usage-rows.js';
import { echoingAgent } from '../../../support/servers/session-node.js';

const database = databaseOfFile(test);
const slots = [7, 8, 9];
const moments = ['2020-01-01T00:00:00.000Z', '2020-01-02T00:00:00.500Z', '2999-01-01T00:00:00.000Z'] as const;
const processes = ['one process', 'another process'] as const;

/** Draws what an actor writes, and more than that: rows that exist already, with other values in every column. */
class DrawnWrites {
  readonly #random: SeededRandom;
  readonly #agent: string;
  readonly #executions = new Map<string, readonly string[]>();

  constructor(random: SeededRandom, agent: string) {
    this.#random = random;
    this.#agent = agent;
  }

  of(tenant: string, session: string): SessionWrite {
    const random = this.#random;
    const isFirst = !this.#executions.has(session);
    const ids = this.#executions.get(session) ?? Array.from({ length: 4 }, () => randomUUID());
    this.#executions.set(session, ids);
    // The first write makes all rows that others refer to.
    const executions = ids
      .filter(() => isFirst || random.chance(0.4))
      .map((id) => this.#execution(tenant, session, id, isFirst));
    return {
      ...(isFirst || random.chance(0.5) ? { session: this.#session(tenant, session) } : {}),
      executions,
      messages: this.#some(6).map((number) => this.#message(tenant, session, number)),
      steps: this.#some(3).map((number) => this.#step(tenant, random.pick(ids), number)),
      logs: random.chance(0.3)
        ? [
            {
              tenant_id: tenant,
              execution_id: random.pick(ids),
              events: [random.id()],
              expires_at: moments[2],
            },
          ]
        : [],
      opened: random.chance(0.3) ? [opened(tenant, { session_id: session })] : [],
    };
  }

  /** Different numbers from 1 on. */
  #some(max: number): readonly number[] {
    return Array.from({ length: max }, (_, at) => at + 1).filter(() => this.#random.chance(0.3));
  }

  #text(): string | null {
    return this.#random.chance(0.3) ? null : this.#random.id();
  }

  #session(tenant_id: string, id: string): SessionRow {
    const random = this.#random;
    return {
      tenant_id,
      id,
      agent_id: this.#agent,
      slot: random.pick(slots),
      consumer_key: this.#text(),
      consumer_display_name: this.#text(),
      has_several: random.chance(0.5),
      channel: random.pick(['chat', 'webhook']),
      started_by: random.chance(0.5) ? null : { kind: 'consumer', id: random.id() },
      metadata: { value: random.id() },
      ...random.pick([
        { control_mode: 'engaged', control_kind: null, control_expires_at: null },
        { control_mode: 'manual_handoff', control_kind: 'handoff', control_expires_at: moments[2] },
      ] as const),
      control_reason: this.#text(),
      control_by: this.#text(),
      control_since: random.pick([null, ...moments]),
      control_epoch: random.between(0, 9),
      summary: this.#text(),
      summary_to: random.between(0, 9),
      last_arrival: random.between(0, 9),
      last_message: random.between(0, 9),
      total_turns: random.between(0, 9),
      created_at: random.pick(moments),
      last_interaction: random.pick(moments),
    };
  }

  #execution(tenant_id: string, session_id: string, id: string, isFirst: boolean): ExecutionRow {
    const random = this.#random;
    const hasEnded = !isFirst && random.chance(0.2);
    return {
      tenant_id,
      id,
      session_id,
      agent_id: this.#agent,
      agent_version: random.pick([null, 1, 2]),
      trigger_id: null,
      slot: random.pick(slots),
      arrival: random.between(1, 1_000_000),
      channel: random.pick(['chat', 'webhook']),
      key_id: random.pick([null, randomUUID()]),
      user_id: random.pick([null, randomUUID()]),
      status: hasEnded ? 'completed' : random.pick(['queued', 'running', 'waiting'] as const),
      outcome: hasEnded ? 'COMPLETED' : null,
      attempts: random.between(0, 3),
      worker: random.pick([null, ...processes]),
      due_at: random.pick(moments),
      cancelled_by: this.#text(),
      input: {
        message: random.id(),
        declared_context: null,
        accepted_fields: ['message'],
        ignored_fields: [],
        quick_replies: false,
        role: 'owner',
        needs_bindings: random.chance(0.5),
        deadline_ms: random.between(1, 9_000),
      },
      sealed_input: this.#text(),
      sealed_bindings: this.#text(),
      metadata: { value: random.id() },
      output: this.#text(),
      blocks: [],
      parsed: random.pick([null, { value: 1 }]),
      model: this.#text(),
      provider: this.#text(),
      usage: random.pick([null, { input_tokens: 1, output_tokens: 2, total_tokens: 3 }]),
      cost: random.between(0, 9),
      latency_ms: random.pick([null, 12]),
      first_token_ms: random.pick([null, 3]),
      tool_calls: random.between(0, 3),
      timeout_clock: null,
      error: random.pick([null, { code: 'internal_error', message: 'it failed' }]),
      created_at: random.pick(moments),
      started_at: random.pick([null, ...moments]),
      finished_at: hasEnded ? moments[1] : null,
    };
  }

  #message(tenant_id: string, session_id: string, number: number): MessageRow {
    return {
      tenant_id,
      session_id,
      number,
      id: randomUUID(),
      role: this.#random.pick(['user', 'assistant'] as const),
      author: null,
      content: this.#random.id(),
      attachments: [],
      declared_context: this.#random.pick([null, { plan: 'gold' }]),
      metadata: {},
      execution_id: null,
      created_at: this.#random.pick(moments),
    };
  }

  #step(tenant_id: string, execution_id: string, number: number): StepRow {
    const random = this.#random;
    return {
      tenant_id,
      execution_id,
      number,
      kind: random.pick(['model', 'tool']),
      name: random.id(),
      state: random.pick(['started', 'finished']),
      detail: random.pick([null, { step: 'intent', intent: random.id() }]),
      started_at: random.pick(moments),
      finished_at: random.pick([null, ...moments]),
    };
  }
}

test('drawn writes of sessions leave the same rows in PostgreSQL and in the simulated store', async (t) => {
  const bench = await startTurns(database);
  const tenant = bench.scope.tenantId;
  const agent = await echoingAgent(bench);
  const config = clusterConfig();
  const real = new PostgresFenceStore(sessionTables, {
    databaseUrl: database.url,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
  });
  t.teardown(() => real.close());
  const usage = new UsageTables(() => Date.now());
  const tables = new SessionTables(usage, () => Date.now());
  const atOnce = { after: (_: number, action: () => void) => setImmediate(action), wallMs: () => Date.now() };
  const twin = new MemoryFenceStore(tables, atOnce, { delayMs: () => 0, fault: () => 'none' });
  const random = new SeededRandom(20_261_124);
  const writes = new DrawnWrites(random, agent.id);
  const sessions = Array.from({ length: 3 }, () => randomUUID());
  const activate = async (session: string): Promise<Fence> => {
    const request: ActivateRequest<SessionLoad> = {
      address: actorAddress(actorKind('test.Session'), tenant, session),
      slot: slot(7),
      activationId: activationId(randomUUID()),
      ignoreStampsOf: () => true,
      load: { tenantId: tenant, sessionId: session },
    };
    const [stored, simulated] = [await real.activate(request), await twin.activate(request)];
    if (stored.outcome !== 'activated' || simulated.outcome !== 'activated') throw new Error('busy');
    t.deepEqual(simulated.fence, stored.fence);
    const [one, other] = [byExecution(simulated.loaded), byExecution(stored.loaded)];
    t.deepEqual(comparable(one), comparable(other, one));
    return stored.fence;
  };
  const fences = new Map<string, Fence>();
  let ended = 0;
  for (let step = 0; step < 60; step += 1) {
    const batch = [];
    for (const session of sessions.filter((_, at) => (step < 3 ? at === step : random.chance(0.6)))) {
      const fence = fences.get(session) ?? (await activate(session));
      batch.push({ fence, stamp: undefined, write: writes.of(tenant, session) });
    }
    if (batch.length === 0) continue;
    const [stored, simulated] = [await real.write(batch), await twin.write(batch)];
    t.deepEqual(simulated, stored, `step ${step}`);
    for (const [at, { fence }] of batch.entries()) {
      const outcome = stored[at];
      if (outcome?.outcome !== 'written') throw new Error(`step ${step}: ${JSON.stringify(outcome)}`);
      ended += outcome.result?.finishedBefore.size ?? 0;
      fences.set(fence.address.key, { ...fence, revision: revision(fence.revision + 1) });
    }
    const reloaded = random.pick([...fences.keys()]);
    fences.set(reloaded, await activate(reloaded));
    await sameUnfinished(step);
  }
  t.true(ended > 10, 'executions that had ended were written again');
  const rows = await bench.store.directory((tx) =>
    tx.any(sql.type(z.object({ id: z.string() }))`
      select attempt_id::text as id from usage_rows where tenant_id = ${tenant}`),
  );
  t.deepEqual(
    [...usage.rows.values()].map((row) => row.opened.attempt_id).toSorted(),
    rows.map(({ id }) => id).toSorted(),
  );

  /** Recovery's look, in pages of two. */
  async function sameUnfinished(step: number): Promise<void> {
    // The slots 7 and 8.
    const bits = new Uint8Array(slotCount / 8);
    bits[0] = 0b1000_0000;
    bits[1] = 1;
    const some = new SlotSet(bits);
    for (const process of processes) {
      let beyond: UnfinishedTurn | undefined;
      for (let page = 0; page < 9; page += 1) {
        const found = await unfinishedTurns(bench.store, some, process, 2, beyond);
        const simulated = tables.unfinished(some, process, 2, beyond);
        t.deepEqual(comparable(simulated), comparable(found), `step ${step}, page ${page} for ${process}`);
        beyond = found.at(-1);
        if (found.length < 2) break;
      }
    }
  }
});

/** Steps of different turns come in any order. */
function byExecution(loaded: SessionLoaded): SessionLoaded {
  const steps = loaded.steps.toSorted(({ execution_id: one }, { execution_id: other }) =>
    one === other ? 0 : one < other ? -1 : 1,
  );
  return { ...loaded, steps };
}

/** The same in both stores: times as numbers, and of stored rows only the columns that the actor knows. */
function comparable(value: unknown, like: unknown = value): unknown {
  if (typeof value === 'string') {
    return /^\d{4}-\d\d-\d\d[T ]\d\d:/.test(value) ? Date.parse(isoOf(value)) : value;
  }
  if (Array.isArray(value)) {
    const shapes: readonly unknown[] = Array.isArray(like) ? like : [];
    return value.map((one: unknown, at) => comparable(one, shapes[at]));
  }
  if (typeof value !== 'object' || value === null) return value;
  const shape: object = typeof like === 'object' && like !== null ? like : value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, one]) => Object.hasOwn(shape, name) && one !== undefined)
      .map(([name, one]) => [name, comparable(one, Reflect.get(shape, name))]),
  );
}

/** PostgreSQL writes a text of a time with a space and a short offset. */
function isoOf(text: string): string {
  return text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
}
