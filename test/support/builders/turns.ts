// Turns without a session around them: real calls and real vendors below, a recording session above.
import { randomUUID } from 'node:crypto';
import { systemTime, type Time } from '../../../cluster/index.js';
import type { RunnableAgent, SnapshotSchema } from '../../../src/agents/index.js';
import { agentDocument } from '../../../src/agents/document.js';
import { schemaDocument } from '../../../src/agents/schemas/document.js';
import { type AccessSettings, vendorAccess } from '../../../src/models/calls/index.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { whenReady } from '../../../src/kernel/ready.js';
import type { CallLimits, Hear } from '../../../src/llm/index.js';
import type { Store } from '../../../src/infra/storage/index.js';
import {
  createTurns,
  type EndedBy,
  type RecordedStep,
  type TurnEnd,
  type TurnEvent,
  type TurnPorts,
  type Turns,
  type TurnStart,
} from '../../../src/conversations/turns/index.js';
import type { TurnsParts } from '../../../src/conversations/turns/parts.js';
import { type AgentsBench, type Person, startAgents } from '../servers/agents.js';
import { startCalls } from '../servers/calls-rig.js';
import type { FileDatabase } from '../database/database.js';

export interface TurnsBench {
  readonly store: Store;
  readonly agents: AgentsBench;
  /** The owner of the tenant. */
  readonly owner: Person;
  readonly scope: TenantScope;
  readonly turns: Turns;
  /** The reported unexpected errors. */
  readonly problems: readonly unknown[];
  /** The log. */
  readonly notes: readonly Readonly<Record<string, unknown>>[];
  /** Model output that a turn has received, including sub-agents'; sent output may still be on its way. */
  readonly said: readonly string[];
  /** Ids of the sub-agents that turns looked at. */
  readonly agentsRead: readonly string[];
  /** A turn of the agent with this message. */
  start(agent: RunnableAgent, message: string, more?: Partial<TurnStart>): TurnStart;
}

export interface TurnsBenchOptions {
  readonly vendors?: AccessSettings['vendors'];
  /** Of the turns and of their model calls. */
  readonly time?: Time;
  readonly contextStrict?: boolean;
  readonly clocks?: CallLimits;
}

const nobody = { apiKey: undefined, baseUrl: undefined };
export const noVendors: AccessSettings['vendors'] = {
  openai: nobody,
  anthropic: nobody,
  google: nobody,
  xai: nobody,
  openrouter: nobody,
};

export async function startTurns(
  database: FileDatabase,
  { vendors = noVendors, time = systemTime, contextStrict = false, clocks }: TurnsBenchOptions = {},
): Promise<TurnsBench> {
  const problems: unknown[] = [];
  const report = (_: string, error: unknown): void => void problems.push(error);
  const agents = await startAgents(database);
  const { store, subject, vault } = agents;
  const rig = await startCalls({ databaseUrl: database.url, vendors, time, report, vault });
  database.atEnd(() => rig.close());
  const scope = await agents.newTenant();
  const notes: Readonly<Record<string, unknown>>[] = [];
  const said: string[] = [];
  const agentsRead: string[] = [];
  return {
    store,
    agents,
    owner: agents.person(scope, 'owner'),
    scope,
    problems,
    notes,
    said,
    agentsRead,
    turns: createTurns(
      { time, log: { report, note: (_, facts) => void notes.push(facts) } },
      {
        models: listening(rig.calls.models, said),
        catalogue: vendorAccess({ vendors, compatible: [], models: [], sim: true }).catalogue,
        tools: subject.tools,
        runnableAgent: (of, id, role) => {
          agentsRead.push(id);
          return subject.runnableAgent(of, id, role);
        },
        agentVersion: (of, id, version) => subject.agentVersion(of, id, version),
        contextStrict,
        // No agent of these tests has to fit a schema.
        fit: { of: () => Promise.reject(new Error('no schema is checked here')) },
        ...(clocks !== undefined && { clocks }),
        refusalOf: () => undefined,
      },
    ),
    start: (agent, message, more = {}) => ({
      scope,
      limits: limitsOf('enterprise', {}),
      caller: { keyId: null, userId: null },
      executionId: randomUUID(),
      sessionId: randomUUID(),
      triggerId: null,
      agentId: agent.id,
      agent,
      attempt: 1,
      depth: 0,
      message,
      attachments: [],
      responseFormat: undefined,
      contextBlock: undefined,
      toolContext: {},
      history: [],
      summary: undefined,
      facts: [],
      quickReplies: false,
      deadlineMs: 60_000,
      recorded: [],
      ...more,
    }),
  };
}

function listening(models: TurnsParts['models'], said: string[]): TurnsParts['models'] {
  return {
    vendorsOf: (scope) => models.vendorsOf(scope),
    prepare: (order) =>
      whenReady(models.prepare(order), (begin) => {
        const start = () => {
          const call = begin();
          const run = call.run.bind(call);
          return Object.assign(call, {
            run: (hear: Hear) =>
              run((events) => {
                for (const event of events) if (event.type === 'content') said.push(event.text);
                return hear(events);
              }),
          });
        };
        return Object.assign(start, { allowedModels: begin.allowedModels });
      }),
  };
}

export interface AgentWishes {
  readonly llm?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly bio?: string;
  readonly quickReplies?: boolean;
  readonly schemas?: readonly (Readonly<Record<string, unknown>> & {
    readonly tools?: SnapshotSchema['tools'];
  })[];
}

/** A published agent, as a version holds it. */
export function agentOf({ llm, metadata, bio, quickReplies, schemas = [] }: AgentWishes = {}): RunnableAgent {
  const document = agentDocument.parse({
    name: 'trying',
    llm_config: { model: 'sim.echo', ...llm },
    ...(metadata !== undefined && { metadata }),
    ...(bio !== undefined && { bio }),
    ...(quickReplies !== undefined && { quick_replies_enabled: quickReplies }),
  });
  return {
    id: randomUUID(),
    version: 1,
    snapshot: {
      ...document,
      commercial_name: document.commercial_name ?? document.name,
      schemas: schemas.map(({ tools = null, ...schema }) => ({
        id: randomUUID(),
        ...schemaDocument.parse(schema),
        tools,
      })),
    },
    rateLimit: null,
    allowedUsers: new Set(),
    approved: null,
  };
}

/** A session that only remembers. */
export class RecordingPorts implements TurnPorts {
  readonly events: TurnEvent[] = [];
  /** Each call of `record`. */
  readonly records: (readonly RecordedStep[])[] = [];
  readonly #controller = new AbortController();
  #onRecord: (count: number) => void | Promise<void> = () => undefined;
  #onEvent: (event: TurnEvent) => void = () => undefined;
  owned = true;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  emit(event: TurnEvent): void {
    this.events.push(event);
    this.#onEvent(event);
  }

  async record(steps: readonly RecordedStep[]): Promise<void> {
    this.records.push(structuredClone(steps));
    await this.#onRecord(this.records.length);
  }

  mayAct(): boolean {
    return this.owned;
  }

  end(by: EndedBy): void {
    this.#controller.abort(by);
  }

  /** Called with the number of each record; its error is the record's failure. */
  onRecord(work: (count: number) => void | Promise<void>): this {
    this.#onRecord = work;
    return this;
  }

  onEvent(work: (event: TurnEvent) => void): this {
    this.#onEvent = work;
    return this;
  }

  /** The steps as a store holds them after the first `count` records, and after an outcome where one is given. */
  recorded(count = this.records.length, end?: TurnEnd): readonly RecordedStep[] {
    const rows = new Map<number, RecordedStep>();
    for (const step of [...this.records.slice(0, count).flat(), ...(end?.steps ?? [])]) {
      rows.set(step.number, step);
    }
    // As they come back from the store: plain JSON.
    return JSON.parse(JSON.stringify([...rows.values()])) as RecordedStep[];
  }

  /** The text that readers assembled from the pieces. */
  get text(): string {
    return this.events.map((event) => (event.type === 'delta' ? event.content : '')).join('');
  }

  get phases(): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'phase' ? [event.name] : []));
  }
}
