// Windows that several nodes count together: each node puts its own count of a window into Redis, and reads those of the
// others. The text of a count is the node's own; Redis only keeps it and adds its time.
import type { RedisConnection } from '../../../../cluster/index.js';

/** What a node has counted in one window: how old each entry is, and its number of events. */
export interface WindowCount {
  readonly agesMs: readonly number[];
  readonly counts: readonly number[];
}

export interface CountedWindow extends WindowCount {
  readonly name: string;
}

export interface WindowsOfOthers {
  /** How many nodes count, this one included. */
  readonly nodes: number;
  /** For each reported window, in order: what the other nodes have counted. */
  readonly windows: readonly WindowCount[];
}

export interface CountingNode {
  /** Distinguishes this installation from others on the same Redis. */
  readonly installation: string;
  readonly process: string;
}

/** Counts older than this are in no window. */
const keptMs = 61_000;
/** A node that has reported nothing for this time counts no more. */
const nodeKeptMs = 45_000;
/**
 * After a failover to a Redis whose clock is behind, what was reported before lies ahead. Left there, it would count until
 * that clock has caught up. A node that still counts reports again.
 */
const aheadMs = 1_000;

/*
 * Keys: the nodes that count, then the windows. Arguments: the process, how long a window is kept, how long a node is
 * kept, how far a report may lie ahead, then for each window the count of this process. Result: the number of nodes, then
 * for each window [age of the count in ms, count, …] of the other processes. A repeated report replaces the first, so a
 * lost answer does no harm. All keys have one hash tag, because a script may use the keys of one slot only.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = tonumber(ARGV[2])
local ahead = tonumber(ARGV[4])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ahead, '+inf')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local result = { redis.call('ZCARD', KEYS[1]) }
for index = 2, #KEYS do
  local key = KEYS[index]
  redis.call('HSET', key, ARGV[1], string.format('%d %s', now, ARGV[index + 3]))
  redis.call('PEXPIRE', key, kept)
  local fields = redis.call('HGETALL', key)
  local others = {}
  for field = 1, #fields, 2 do
    local at, count = string.match(fields[field + 1], '^(%d+) (.*)$')
    local age = now - tonumber(at)
    if age > kept or age < -ahead then
      redis.call('HDEL', key, fields[field])
    elseif fields[field] ~= ARGV[1] then
      others[#others + 1] = math.max(age, 0)
      others[#others + 1] = count
    end
  end
  result[index] = others
end
return result`;

export async function exchangeWindows(
  redis: RedisConnection,
  { installation, process }: CountingNode,
  counted: readonly CountedWindow[],
): Promise<WindowsOfOthers> {
  const tag = `{troupe-windows-${installation}}`;
  const keys = [`${tag}:nodes`, ...counted.map(({ name }) => `${tag}:${name}`)];
  const values = [process, keptMs, nodeKeptMs, aheadMs, ...counted.map(textOf)];
  const result: unknown = await redis.eval(script, keys.length, ...keys, ...values);
  if (!Array.isArray(result)) throw new Error('Redis answered a count of windows with no list');
  const [nodes, ...windows] = result as [unknown, ...unknown[]];
  return { nodes: Number(nodes), windows: windows.map(countOf) };
}

/** `age,count` for each entry, in base 36. */
function textOf({ agesMs, counts }: CountedWindow): string {
  return agesMs
    .map((age, index) => `${Math.round(age).toString(36)},${(counts[index] ?? 0).toString(36)}`)
    .join(' ');
}

function countOf(others: unknown): WindowCount {
  const agesMs: number[] = [];
  const counts: number[] = [];
  const values = Array.isArray(others) ? others : [];
  for (let index = 0; index + 1 < values.length; index += 2) {
    const sinceMs = Number(values[index]);
    for (const entry of String(values[index + 1]).split(' ')) {
      const [age = Number.NaN, count = Number.NaN] = entry.split(',').map((part) => parseInt(part, 36));
      if (!(age >= 0 && count > 0)) continue;
      agesMs.push(age + sinceMs);
      counts.push(count);
    }
  }
  return { agesMs, counts };
}
