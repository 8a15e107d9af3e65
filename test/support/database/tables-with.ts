import type { PrivateRedis } from '../servers/redis.js';
import { dump, ownerView } from './owner-view.js';

/** The tables with a row that holds the word, as text or as bytes. */
export async function tablesWith(databaseUrl: string, word: string): Promise<readonly string[]> {
  const owner = await ownerView(databaseUrl);
  const text = await dump(owner);
  await owner.end();
  const bytes = Buffer.from(word).toString('hex');
  const found = new Set<string>();
  let table = '';
  for (const line of text.split('\n')) {
    if (/^"?\w+"?:$/.test(line)) table = line.slice(0, -1);
    else if (line.includes(word) || line.includes(bytes)) found.add(table);
  }
  return [...found].toSorted();
}

/** The keys of Redis whose names or values hold the word, whatever their type. */
export function keysWith(redis: PrivateRedis, word: string): Promise<readonly string[]> {
  return redis.command(async (client) => {
    const found: string[] = [];
    for (const key of await client.keys('*')) {
      const kind = await client.type(key);
      const value =
        kind === 'string'
          ? await client.getBuffer(key)
          : kind === 'hash'
            ? await client.hgetallBuffer(key)
            : kind === 'list'
              ? await client.lrangeBuffer(key, 0, -1)
              : kind === 'set'
                ? await client.smembersBuffer(key)
                : kind === 'zset'
                  ? await client.zrangeBuffer(key, 0, -1)
                  : await client.xrangeBuffer(key, '-', '+');
      if ([key, textOf(value)].some((text) => text.includes(word))) found.push(key);
    }
    return found;
  });
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  if (typeof value === 'object' && value !== null) return Object.entries(value).flat().map(textOf).join('\n');
  return String(value);
}
