// Reads the realtime events of a tenant, as an inbox does, and notes when those about consumers arrive.
import { get } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const arrivalMsMax = 10_000;

export class Follower {
  readonly #arrivedAtMs = new Map<string, number>();

  static async open(port: number, key: string): Promise<Follower> {
    const follower = new Follower();
    const request = get({
      host: '127.0.0.1',
      port,
      path: '/api/v1/realtime/events',
      headers: { 'x-api-key': key },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`the events were answered ${response.statusCode}`);
    let pending = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) follower.#take(line);
    });
    return follower;
  }

  #take(line: string): void {
    const consumer = /"consumer_key":"([^"]+)"/.exec(line)?.[1];
    if (consumer !== undefined) this.#arrivedAtMs.set(consumer, performance.now());
  }

  /** When the event about the consumer arrived, by `performance.now()`. */
  async arrival(consumer: string): Promise<number> {
    const endsAtMs = performance.now() + arrivalMsMax;
    for (;;) {
      const atMs = this.#arrivedAtMs.get(consumer);
      if (atMs !== undefined) return atMs;
      if (performance.now() > endsAtMs) throw new Error(`no event about ${consumer} arrived`);
      await sleep(20);
    }
  }
}
