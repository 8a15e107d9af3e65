// Trigger messages with ended turns, in a real PostgreSQL, for tests of ending them.
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import pg from 'pg';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { type BatchWriter, type BatchWriters, openBatchWriters } from '../../../src/infra/storage/index.js';
import { ignoreIdleLosses } from '../../../src/infra/storage/pool.js';
import {
  type AcceptedRow,
  type Acceptance,
  acceptTarget,
} from '../../../src/automation/inbox/accept-target.js';
import type { FinishedRow } from '../../../src/automation/outbox/finish-target.js';
import { databaseOfFile } from '../database/database.js';
import { ownerView } from '../database/owner-view.js';

export interface EndedMessage {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly session_id: string;
  readonly key: string;
  readonly executionId: string;
  readonly seq: number;
}

/** For the whole file. Nothing of it is at hand before the tests run. */
export class EndedMessages {
  readonly #database;
  #owner: pg.Pool | undefined;
  #writers: BatchWriters | undefined;
  #inbox: BatchWriter<AcceptedRow, Acceptance> | undefined;

  constructor(test: TestFn) {
    this.#database = databaseOfFile(test);
    test.serial.before(async () => {
      const { url } = this.#database;
      await (await ownerView(url)).end();
      const owner = new pg.Pool({ connectionString: url });
      // Its end does not wait for the connections, which the drop of the database may end first.
      ignoreIdleLosses(owner);
      const writers = openBatchWriters({ databaseUrl: url, time: systemTime, random: systemRandom });
      this.#database.atEnd(async () => {
        await writers.close();
        await owner.end();
      });
      this.#owner = owner;
      this.#writers = writers;
      this.#inbox = writers.writer(acceptTarget);
    });
  }

  get url(): string {
    return this.#database.url;
  }

  get owner(): pg.Pool {
    return present(this.#owner);
  }

  get writers(): BatchWriters {
    return present(this.#writers);
  }

  async tenant(): Promise<string> {
    const id = randomUUID();
    await this.owner.query(`insert into tenants (id, name) values ($1, 'One')`, [id]);
    return id;
  }

  /** A message that runs, with the execution that the session has written. */
  async message(tenant_id: string, session_id: string = randomUUID()): Promise<EndedMessage> {
    const [trigger_id, executionId, key] = [randomUUID(), randomUUID(), `key:${randomUUID()}`];
    const { seq } = await present(this.#inbox).write({
      tenant_id,
      trigger_id,
      key,
      session_id,
      execution_id: executionId,
      state: 'running',
      asks: false,
      payload_hash: '',
      sealed: Buffer.from('work'),
      answer: null,
      hold_ms: 60_000,
      keep_ms: 60_000,
    });
    await this.owner.query(
      `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, status, outcome, due_at, input, channel,
          created_at, finished_at)
        values ($1, $2, $3, $4, 0, 0, 'completed', 'COMPLETED', now(), '{}', 'webhook', now(), now())`,
      [tenant_id, executionId, session_id, randomUUID()],
    );
    return { tenant_id, trigger_id, session_id, key, executionId, seq };
  }

  /** The attempts to send its answer, in order. */
  async attempts({ executionId }: EndedMessage): Promise<readonly string[]> {
    const { rows } = await this.owner.query<{ text: string }>(
      `select a.chunk || '.' || a.attempt || case when a.finished_at is null then ' open' else ' ' || a.status_code end
          as text
        from delivery_attempts a join deliveries d on d.id = a.delivery_id where d.execution_id = $1 order by a.number`,
      [executionId],
    );
    return rows.map(({ text }) => text);
  }

  async state({ executionId }: EndedMessage): Promise<object | undefined> {
    const { rows } = await this.owner.query<object>(
      `select (select state from trigger_inbox where execution_id = $1) as inbox,
        (select array_agg(status) from deliveries where execution_id = $1) as deliveries,
        (select delivery_status from executions where id = $1) as shown`,
      [executionId],
    );
    return rows[0];
  }
}

/** As its process ends it, with an answer of so many chunks. */
export function finished(of: EndedMessage, chunkTotal = 1, given: Partial<FinishedRow> = {}): FinishedRow {
  const { tenant_id, trigger_id, session_id, key, executionId, seq } = of;
  return {
    tenant_id,
    trigger_id,
    session_id,
    key,
    kept: undefined,
    reply: Buffer.from(`reply to ${key}`),
    mail: undefined,
    answer: {
      id: randomUUID(),
      executionId,
      place: seq,
      chunkTotal,
      truncated: false,
      sealed: Buffer.from(`answer to ${key}`),
      mayBegin: true,
    },
    ...given,
  };
}

function present<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('Nothing is there before the tests run');
  return thing;
}
