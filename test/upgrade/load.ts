// Callers of a cluster whose nodes come and go: turns, webhooks with callbacks, and model calls, until stopped.
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/clocks/eventually.js';
import { publishAgent } from '../support/builders/published-agents.js';
import type { Client } from '../support/clients/client.js';
import { readTurn, RefusedTurn, type TurnReading } from '../support/clients/turn-reader.js';
import type { NodeProcess, NodeProcesses } from '../support/servers/nodes.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';

export interface LoadParts {
  readonly t: { teardown(work: () => Promise<void>): void };
  readonly cluster: LoadedCluster;
  /** The nodes that get new requests, as a load balancer sees them. */
  readonly open: ReadonlySet<Pick<NodeProcess, 'url'>>;
  readonly talkers: number;
  readonly senders: number;
  readonly callers: number;
  /** A sender whose message nobody acknowledges for so long gives up. */
  readonly senderPatienceMs?: number;
}

interface LoadedCluster extends Pick<NodeProcesses, 'bootstrap'> {
  readonly nodes: readonly Pick<NodeProcess, 'client'>[];
}

export interface LoadOutcome {
  readonly turns: readonly TurnReading[];
  /** What each user sent and got acknowledged, in order. */
  readonly acknowledged: ReadonlyMap<string, readonly string[]>;
  readonly callbacks: ToolServer['heard'];
  /** The ids of the calls that were answered. */
  readonly calls: readonly string[];
  /** Requests that a node refused before it began them, with a time to come back. */
  readonly refused: number;
  /** How often a turn began again at another node. */
  readonly moved: number;
}

interface Agents {
  readonly short: string;
  readonly long: string;
}

export class UpgradeLoad {
  readonly failures: unknown[] = [];
  readonly #parts: LoadParts;
  readonly #agents: Agents;
  readonly #hook: { readonly path: string; readonly secret: string };
  readonly #receiver: ToolServer;
  readonly #stopped = new AbortController();
  readonly #turns: TurnReading[] = [];
  readonly #acknowledged = new Map<string, string[]>();
  readonly #calls: string[] = [];
  readonly #all: Promise<unknown>;
  readonly #long: Promise<unknown>[] = [];
  #begun = 0;
  #moved = 0;
  #refused = 0;

  static async start(parts: LoadParts): Promise<UpgradeLoad> {
    const { t, cluster } = parts;
    const [first] = cluster.nodes;
    if (first === undefined) throw new Error('there is no node');
    const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
    const publish = (model: string): Promise<string> =>
      publishAgent(first.client, cluster.bootstrap, { model });
    const agents = {
      // About four seconds long: each change of a node meets turns in all of their stages.
      short: await publish('sim.lorem-40-100'),
      // Longer than a drain, so that a turn moves to a node of another version in its midst.
      long: await publish('sim.lorem-40-750'),
    };
    return new UpgradeLoad(parts, agents, await makeTrigger(first.client, cluster, receiver), receiver);
  }

  private constructor(
    parts: LoadParts,
    agents: Agents,
    hook: { readonly path: string; readonly secret: string },
    receiver: ToolServer,
  ) {
    this.#parts = parts;
    this.#agents = agents;
    this.#hook = hook;
    this.#receiver = receiver;
    const { talkers, senders, callers } = parts;
    this.#all = Promise.all([
      ...each(talkers, (name) => this.#until(() => this.#talk(name))),
      ...each(senders, (name) => this.#noted(this.#send(`user-${name}`))),
      ...each(callers, () => this.#until(() => this.#call())),
    ]);
  }

  /**
   * Begins turns that outlast a drain: a node that stops now hands those that it owns to another, in their midst. With six,
   * a node of three owns one nine times of ten.
   */
  async beginLongTurns(): Promise<void> {
    const before = this.#begun;
    const long = each(6, () => this.#read(this.#agents.long, { message: 'many words' }));
    this.#long.push(...long.map((turn) => this.#noted(turn)));
    await eventually(() => this.#begun >= before + long.length, {
      timeoutMs: 30_000,
      what: 'the long turns have begun',
    });
  }

  /**
   * A turn that three processes have left counts as lost for version 0.1, also if they left in order: the next long turns
   * begin when these have ended.
   */
  async longTurnsEnd(): Promise<void> {
    await Promise.all(this.#long.splice(0));
  }

  /** How many turns have begun. */
  get begun(): number {
    return this.#begun;
  }

  get finished(): number {
    return this.#turns.length;
  }

  /** Resolves when everything that has begun has ended. */
  async stop(): Promise<LoadOutcome> {
    this.#stopped.abort();
    await this.#all;
    await this.longTurnsEnd();
    const sent = [...this.#acknowledged.values()].reduce((sum, { length }) => sum + length, 0);
    await eventually(() => distinct(this.#receiver.heard).length >= sent, {
      timeoutMs: 60_000,
      what: `${sent} callbacks`,
    }).catch((error: unknown) => this.failures.push(error));
    return {
      turns: this.#turns,
      acknowledged: this.#acknowledged,
      callbacks: this.#receiver.heard,
      calls: this.#calls,
      refused: this.#refused,
      moved: this.#moved,
    };
  }

  /** Nobody awaits it before the end, and a rejection without a handler would end the process without its teardown. */
  async #noted(work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => this.failures.push(error));
  }

  async #until(work: () => Promise<void>): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await work().catch(async (error: unknown) => {
        this.failures.push(error);
        await delay(1_000);
      });
    }
  }

  /** Two turns of one session, so that sessions with a past move between versions too. */
  async #talk(name: number): Promise<void> {
    let session: string | undefined;
    // Every other one reads on at another node, which asks the owner over a link.
    const more = name % 2 === 0 ? {} : { cutAfter: 15 };
    for (let turn = 0; turn < 2; turn += 1) {
      const body = {
        message: `words for ${name}`,
        ...(session === undefined ? {} : { session_id: session }),
      };
      session = (await this.#read(this.#agents.short, body, more))?.sessionId;
      if (session === undefined) return;
    }
  }

  async #read(agentId: string, body: object, more: { readonly cutAfter?: number } = {}) {
    const reading = await readTurn({
      urls: () => [...this.#parts.open].map(({ url }) => url),
      key: this.#parts.cluster.bootstrap.api_key,
      agentId,
      body,
      onEvent: ({ type, data }) => {
        if (type === 'metadata') this.#begun += 1;
        if (type === 'status' && data['state'] === 'restarted') this.#moved += 1;
      },
      ...more,
    }).catch((error: unknown) => this.#asBidden(error));
    if (reading !== undefined) this.#turns.push(reading);
    return reading;
  }

  /** An overloaded node refuses before a turn starts, with a time to come back; clients follow it. */
  async #asBidden(error: unknown): Promise<undefined> {
    if (!(error instanceof RefusedTurn)) throw error;
    const seconds = Number(error.headers.get('retry-after') ?? Number.NaN);
    if (error.status !== 503 || !(seconds >= 0)) throw error;
    this.#refused += 1;
    await delay(1_000 * seconds);
    return undefined;
  }

  /** Like a careful sender: one message after the other, each until it is acknowledged, with the same id. */
  async #send(user: string): Promise<void> {
    const acknowledged: string[] = [];
    this.#acknowledged.set(user, acknowledged);
    while (!this.#stopped.signal.aborted) {
      const id = randomUUID();
      const body = JSON.stringify({ message: id, user });
      const signature = createHmac('sha256', this.#hook.secret).update(body).digest('hex');
      const headers = {
        'content-type': 'application/json',
        'x-webhook-signature': `sha256=${signature}`,
        'x-webhook-id': id,
      };
      const isTaken = async (): Promise<boolean> => {
        const answer = await this.#post(this.#hook.path, headers, body).catch(() => undefined);
        return answer?.status === 202;
      };
      const timeoutMs = this.#parts.senderPatienceMs ?? 60_000;
      await eventually(isTaken, { timeoutMs, everyMs: 200, what: `an acknowledgement of ${id}` });
      acknowledged.push(id);
      await delay(150);
    }
  }

  async #call(): Promise<void> {
    const headers = {
      'x-api-key': this.#parts.cluster.bootstrap.api_key,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const query = `native ${randomUUID()}`;
    const { status, text, retryAfter } = await this.#post(
      '/api/v3/llm/public/call',
      headers,
      JSON.stringify({ model: 'sim.echo', query, cache: false }),
    );
    if (status === 200) this.#calls.push(query);
    else if (status === 503 && retryAfter !== undefined) {
      this.#refused += 1;
      await delay(1_000 * retryAfter);
    } else throw new Error(`a call was answered with ${status} ${text}`);
    // The key may make 1,000 requests a minute.
    await delay(400);
  }

  async #post(path: string, headers: Readonly<Record<string, string>>, body: string) {
    const nodes = [...this.#parts.open];
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(`${node?.url}${path}`, { method: 'POST', headers, body, signal });
    const retryAfter = response.headers.get('retry-after');
    return {
      status: response.status,
      text: await response.text(),
      retryAfter: retryAfter === null ? undefined : Number(retryAfter),
    };
  }
}

/** The callbacks without repeats: a repeat has the same key. */
export function distinct(heard: ToolServer['heard']): ToolServer['heard'] {
  const keys = new Set<string>();
  return heard.filter(({ headers }) => {
    const key = String(headers['idempotency-key']);
    const isNew = !keys.has(key);
    keys.add(key);
    return isNew;
  });
}

function each<Made>(count: number, make: (name: number) => Made): Made[] {
  return Array.from({ length: count }, (_, name) => make(name));
}

async function makeTrigger(client: Client, { bootstrap }: LoadedCluster, receiver: ToolServer) {
  const { status, json, text } = await client.call('POST', '/api/triggers', {
    token: bootstrap.access_token,
    tenant: bootstrap.tenant_id,
    body: {
      agent_id: bootstrap.agent_id,
      name: 'called back',
      trigger_type: 'webhook',
      trigger_config: {
        session_strategy: { mode: 'derive', fields: ['user'] },
        execution: { mode: 'async', callback: { url: receiver.url } },
      },
    },
  });
  if (status !== 201) throw new Error(`POST /api/triggers: ${text}`);
  return {
    path: `/api/triggers/webhook/${String(json.data.id)}`,
    secret: String(json.data.webhook_secret),
  };
}
