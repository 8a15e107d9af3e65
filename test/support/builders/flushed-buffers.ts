// Flushed buffers in a real PostgreSQL, and processes that run them.
import { randomBytes, randomUUID } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type pg from 'pg';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { flushTarget } from '../../../src/automation/inbox/flush-target.js';
import { InboxRunner } from '../../../src/automation/inbox/inbox-runner.js';
import { type MessageRows, messageRows } from '../../../src/automation/inbox/message-rows.js';
import type { BufferSplit } from '../../../src/automation/inbox/split.store.js';
import { workOf } from '../../../src/automation/inbox/one-turn.js';
import type { InboxMessage } from '../../../src/automation/messages/inbox-message.js';
import { MessageSealer, work } from '../../../src/automation/messages/message-payload.js';
import type { TurnOrder, TurnOutcome } from '../../../src/automation/triggers/ports.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { openBatchWriters, openStore, type Store, StoreError } from '../../../src/infra/storage/index.js';
import { type TenantScope, tenantScope } from '../../../src/kernel/tenant-scope.js';
import { databaseOfFile } from '../database/database.js';
import { ownerView } from '../database/owner-view.js';
import { liveTrigger } from './live-trigger.js';
import { insertTakenOver } from './message-process.js';

export const sealer = createSealer({ masterKey: randomBytes(32), random: systemPlatform.random });
const seal = new MessageSealer(sealer);
export const [here, there] = [`member-${randomUUID()}`, `member-${randomUUID()}`];
const holdMs = 60_000;

export const completed: TurnOutcome = {
  outcome: 'COMPLETED',
  content: 'answer',
  totalTokens: 1,
  latencyMs: 1,
  error: undefined,
};

/** Not reported as a fault. */
export const lost = new StoreError('outcome-unknown', 'The answer was lost');

export interface Said {
  readonly from?: string;
  readonly text: string;
  readonly shared?: boolean;
}

type RunTurn = (order: TurnOrder) => Promise<TurnOutcome>;

export interface FlushedBuffer {
  readonly scope: TenantScope;
  readonly sessionId: string;
  readonly row: NonNullable<InboxMessage['row']>;
  readonly denied: Set<string>;
  /** As the process that flushed it has it. */
  readonly item: () => Promise<InboxMessage>;
  readonly runner: (
    t: ExecutionContext,
    process: string,
    runTurn: RunTurn,
    given?: Partial<MessageRows>,
  ) => { readonly made: InboxRunner; readonly sweep: () => void };
  /** The rows that run or ran, each with the texts of its messages. */
  readonly rowsOf: () => Promise<readonly string[]>;
  /** The executions that no session had. */
  readonly refused: () => Promise<readonly string[]>;
  readonly split: (senders: readonly string[], restId?: string) => BufferSplit;
  /** Its process is surely gone. */
  readonly voidClaims: () => Promise<unknown>;
}

export interface Buffers {
  /** A buffer that `here` has just flushed, and processes that run it. */
  readonly flushed: (said: readonly Said[]) => Promise<FlushedBuffer>;
  readonly storeOf: (process: string) => Store;
  readonly owner: () => pg.Client;
}

/** For the whole file. Nothing of it is at hand before the tests run. */
export function buffersOf(test: TestFn): Buffers {
  const database = databaseOfFile(test);
  const stores = new Map<string, Store>();
  let writers: ReturnType<typeof openBatchWriters>;
  let owner: pg.Client;

  test.serial.before(async () => {
    const { url: databaseUrl } = database;
    for (const process of [here, there]) stores.set(process, await openStore({ databaseUrl, process }));
    writers = openBatchWriters({ databaseUrl, process: here, time: systemTime, random: systemRandom });
    owner = await ownerView(databaseUrl);
    database.atEnd(async () => {
      await owner.end();
      await writers.close();
      for (const store of stores.values()) await store.close();
    });
  });

  function storeOf(process: string): Store {
    const store = stores.get(process);
    if (store === undefined) throw new Error(`no store of ${process}`);
    return store;
  }

  async function flushed(said: readonly Said[]) {
    const scope = tenantScope(randomUUID());
    const [triggerId, sessionId, executionId] = [randomUUID(), randomUUID(), randomUUID()];
    await insertTakenOver(owner, scope.tenantId, sessionId);
    const live = liveTrigger(scope, triggerId);
    const denied = new Set<string>();
    const senderBlocks = {
      isRefused: async (_scope: unknown, _parsed: unknown, key: string | undefined) => denied.has(key ?? ''),
    };
    const works = said.map(({ from, text, shared }) => ({
      message: text,
      context: {},
      requestId: 'r',
      ...(from === undefined ? {} : { consumerKey: from }),
      ...(shared === undefined ? {} : { shared }),
    }));
    for (const one of works)
      await writers.writer(acceptTarget).write({
        tenant_id: scope.tenantId,
        trigger_id: triggerId,
        key: `key:${randomUUID()}`,
        session_id: sessionId,
        execution_id: null,
        state: 'buffered',
        asks: false,
        payload_hash: '',
        sealed: seal.seal(scope, one),
        answer: null,
        hold_ms: holdMs,
        keep_ms: holdMs,
      });
    const { seq } = await writers.writer(flushTarget({ holdMs, keepMs: holdMs })).write({
      tenant_id: scope.tenantId,
      trigger_id: triggerId,
      session_id: sessionId,
      execution_id: executionId,
      at_once: true,
      most: 100,
      bytes: 0,
    });
    const row = { trigger_id: triggerId, key: `buffer:${executionId}`, seq };
    const item = async () => ({
      scope,
      triggerId,
      sessionId,
      executionId,
      ...(await workOf(senderBlocks, scope, live.parsed, works)),
      row,
      attempts: 1,
      ageMs: 0,
    });
    /** A session has a turn for certain once its execution is written. */
    const takeTurn = async (order: TurnOrder, t: ExecutionContext): Promise<void> => {
      const written = owner.query(
        `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, due_at, input,
            created_at)
          values ($1, $2, $3, $1, 0, 0, 'webhook', 'running', now() + interval '1 hour', '{}', now())`,
        [scope.tenantId, order.executionId, sessionId],
      );
      await written.then(order.onTaken, (error: unknown) => t.fail(String(error)));
    };
    const runner: FlushedBuffer['runner'] = (t, process, runTurn, given = {}) => {
      const sweeps: (() => void)[] = [];
      const rows = { ...messageRows(storeOf(process)), ...given };
      const made = new InboxRunner({
        rows,
        live: { get: async () => live },
        senderBlocks,
        turns: {
          runTurn: (order) => runTurn({ ...order, onTaken: () => void takeTurn(order, t) }),
          outcomeOf: async () => undefined,
          isKnown: async () => false,
        },
        sender: {
          finish: async (_scope, { key }) => {
            const done = { ...row, key: key ?? '' };
            await rows.end(scope, {
              row: done,
              execution: undefined,
              failure: undefined,
              reply: undefined,
              kept: undefined,
            });
          },
          announce: () => undefined,
        },
        seal,
        plainTexts: (_, text) => text,
        ids: systemPlatform.ids,
        time: {
          ...systemTime,
          after: (ms, action) => {
            if (ms === 2_000) sweeps.push(action);
            // Before a message is begun again, or looks again for older ones.
            if (ms === 1_000 || ms === 250) return systemTime.after(0, action);
            return { cancel: () => undefined };
          },
        },
        scopeOf: tenantScope,
        report: (attempted, error) => {
          if (error !== lost) t.fail(`${attempted}: ${String(error)}`);
        },
      });
      t.teardown(() => made.stop());
      made.start();
      return { made, sweep: () => sweeps.splice(0).forEach((look) => look()) };
    };
    const rowsOf = async (): Promise<readonly string[]> => {
      const { rows } = await owner.query<{ state: string; parts: Buffer[] }>(
        `select r.state, array(
            select p.sealed from trigger_inbox p
            where p.tenant_id = r.tenant_id and p.execution_id = r.execution_id and p.state = 'merged' order by p.seq) as parts
          from trigger_inbox r where r.tenant_id = $1 and starts_with(r.key, 'buffer:') order by r.seq`,
        [scope.tenantId],
      );
      return rows.map(({ state, parts }) =>
        [state, ...seal.openEach(scope, parts).map(({ message }) => message)].join(' '),
      );
    };
    const refused = async (): Promise<readonly string[]> => {
      const { rows } = await owner.query<{ shown: string }>(
        `select concat_ws(' ', status, input ->> 'message', input #>> '{author,id}') as shown
          from executions where tenant_id = $1 and status <> 'running' order by created_at, id`,
        [scope.tenantId],
      );
      return rows.map(({ shown }) => shown);
    };
    const split = (senders: readonly string[], restId: string = randomUUID()) => ({
      executionId,
      restId,
      isInFirst: (sealed: Buffer) => senders.includes(seal.open(scope, sealed, work).consumerKey ?? ''),
      holdMs,
      keepMs: holdMs,
    });
    const voidClaims = () =>
      owner.query(
        'update trigger_inbox set claimed_by = null, due_at = clock_timestamp() where tenant_id = $1',
        [scope.tenantId],
      );
    return { scope, sessionId, row, item, denied, runner, rowsOf, refused, split, voidClaims };
  }

  return { flushed, storeOf, owner: () => owner };
}
