import { operatorToken } from '../servers/node.js';
import type { Client } from './client.js';

/** The metrics of a node, as Prometheus reads them. */
export class ReadMetrics {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static async of(client: Client): Promise<ReadMetrics> {
    return new ReadMetrics((await client.call('GET', '/metrics', { token: operatorToken })).text);
  }

  get names(): ReadonlySet<string> {
    return new Set([...this.text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''));
  }

  /** The sum of the series with these labels, whatever other labels they have; 0 if there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return this.text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .filter((line) => wanted.every((label) => new RegExp(`[{,]${label}[,}]`).test(line)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }
}
