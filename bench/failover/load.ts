// A steady load on several nodes: signed webhooks whose answers are called back, turns that are read to their end, and a
// schedule that fires each second. Each piece of work is timed from outside.
import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readTurn } from '../../test/support/clients/turn-reader.js';
import type { NodeProcess } from '../../test/support/servers/nodes.js';

export interface Timed {
  /** When it began, by `performance.now()`: acknowledged, asked or due. */
  readonly atMs: number;
  readonly tookMs: number;
}

export interface Target {
  readonly path: string;
  readonly secret: string;
}

export interface LoadOptions {
  /** Nodes that a sender would try. */
  readonly alive: () => readonly NodeProcess[];
  readonly webhook: Target;
  readonly agentId: string;
  readonly key: string;
  readonly webhooksPerSecond: number;
  readonly turnsPerSecond: number;
  readonly sessions: number;
}

const accepted = z.object({ execution_id: z.string() });
/** A sender or reader tries another node after this long without an answer or event. */
const patienceMs = 2_000;

/** Receives answers; remembers when the first chunk of each execution came, and each call of a schedule. */
export class Receiver {
  readonly calledAtMs = new Map<string, number>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const [execution = ''] = String(request.headers['idempotency-key']).split(':');
      if (!this.calledAtMs.has(execution)) this.calledAtMs.set(execution, performance.now());
      request.resume();
      response.writeHead(200).end();
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

export class Load {
  /** By execution: when its sender had the acknowledgement. */
  readonly acknowledgedAtMs = new Map<string, number>();
  readonly turns: Timed[] = [];
  readonly failures: string[] = [];
  readonly #options: LoadOptions;
  readonly #open = new Set<Promise<void>>();
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  start(): void {
    const { webhooksPerSecond, turnsPerSecond } = this.#options;
    this.#running = Promise.all([
      this.#paced(webhooksPerSecond, (index) => this.#send(index)),
      this.#paced(turnsPerSecond, (index) => this.#turn(index)),
    ]);
  }

  /** Resolves once each webhook is acknowledged and each turn has ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  async #paced(perSecond: number, begin: (index: number) => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    for (let index = 0; !this.#isOver; index += 1) {
      const dueInMs = startedAt + (index / perSecond) * 1_000 - performance.now();
      if (dueInMs > 0) await sleep(dueInMs);
      const one: Promise<void> = begin(index)
        .catch((error: unknown) => void this.failures.push(String(error)))
        .finally(() => this.#open.delete(one));
      this.#open.add(one);
    }
  }

  /** Sends until a node has acknowledged it, with the same id each time. */
  async #send(index: number): Promise<void> {
    const { alive, webhook, sessions } = this.#options;
    const body = JSON.stringify({ message: `message ${index}`, user: `user-${index % sessions}` });
    const headers = {
      'content-type': 'application/json',
      'x-webhook-signature': `sha256=${createHmac('sha256', webhook.secret).update(body).digest('hex')}`,
      'x-webhook-id': randomUUID(),
    };
    for (let tries = 0; tries < 100; tries += 1) {
      const nodes = alive();
      const node = nodes[Math.floor(Math.random() * nodes.length)];
      const signal = AbortSignal.timeout(patienceMs);
      const response = await fetch(`${node?.url}${webhook.path}`, { method: 'POST', headers, body, signal })
        .then(async (answer) => ({ status: answer.status, text: await answer.text() }))
        .catch(() => undefined);
      if (response?.status === 202) {
        const { execution_id: execution } = accepted.parse(JSON.parse(response.text));
        this.acknowledgedAtMs.set(execution, performance.now());
        return;
      }
      await sleep(100);
    }
    throw new Error(`the webhook ${index} was not acknowledged`);
  }

  async #turn(index: number): Promise<void> {
    const { alive, key, agentId } = this.#options;
    const atMs = performance.now();
    for (let tries = 0; tries < 20; tries += 1) {
      try {
        const body = { message: `turn ${index}` };
        const urls = (): readonly string[] => alive().map(({ url }) => url);
        await readTurn({ urls, key, agentId, body, silenceMs: patienceMs });
        this.turns.push({ atMs, tookMs: performance.now() - atMs });
        return;
      } catch {
        // The node died before it named the execution: a client asks again.
        await sleep(100);
      }
    }
    throw new Error(`the turn ${index} has no end`);
  }
}
