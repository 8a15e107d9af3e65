import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisConnection } from './connection.js';

/** The Lua files are in the source folder; each documents its keys, arguments and result. */
const folder = new URL('../../../../cluster/membership/redis/', import.meta.url);

export class Script {
  readonly #text: string;
  readonly #sha: string;

  /** Several names: their texts one after the other are one script. */
  constructor(...names: readonly string[]) {
    this.#text = names.map((name) => readFileSync(new URL(`${name}.lua`, folder), 'utf8')).join('');
    this.#sha = createHash('sha1').update(this.#text).digest('hex');
  }

  async run(
    connection: RedisConnection,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown> {
    try {
      return await connection.evalsha(this.#sha, keys.length, ...keys, ...values);
    } catch (error) {
      // A restarted server has lost its scripts.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return connection.eval(this.#text, keys.length, ...keys, ...values);
    }
  }
}
