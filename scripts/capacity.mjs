// Computes what a load needs: node scripts/capacity.mjs --calls 500 --turns 100 --webhooks 50 (each per second). The
// costs are those of docs/guides/plan-capacity.md, which tells how to measure your own; --costs names a file with them.
import '../bin/supported-node.mjs';
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/**
 * @typedef {object} Cost CPU milliseconds of the node and of PostgreSQL, KB of tables and of write-ahead log, for one.
 * @property {number} node
 * @property {number} database
 * @property {number} stored
 * @property {number} log
 */

/** Cores are planned to be busy for this part, so that bursts and a lost machine fit. */
const busy = 0.6;
/** Redis: µs for each read, fixed and for each process, and KB for each process (`npm run bench:members`). */
const redis = { fixedMicros: 115, microsEach: 0.15, kilobytesEach: 0.026, readsEach: 2 };

/** @returns {Record<string, Cost>} the table of the page, by its first column */
export function costsOf(/** @type {string} */ page) {
  const rows = [
    ...page.matchAll(/^\| (call|turn|webhook)\b[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm),
  ];
  return Object.fromEntries(
    rows.map(([, name, ...values]) => {
      const [node, database, stored, log] = values.map(Number);
      return [name, { node, database, stored, log }];
    }),
  );
}

/**
 * @param {Record<string, Cost>} costs
 * @param {Record<string, number>} load of each kind, per second
 * @param {{ cores: number, zones: number, days: number }} plan cores of a node, zones of which one may be lost, days kept
 */
export function capacityOf(costs, load, { cores, zones, days }) {
  const sum = (/** @type {(cost: Cost) => number} */ of) =>
    Object.entries(load).reduce((total, [name, rate]) => total + rate * of(costs[name]), 0);
  const nodeCores = sum(({ node }) => node) / 1_000 / busy;
  const spare = zones > 1 ? zones / (zones - 1) : 1;
  const nodes = Math.max(zones, Math.ceil((nodeCores * spare) / cores));
  const reads = nodes * redis.readsEach;
  return {
    nodes,
    nodeCores,
    databaseCores: sum(({ database }) => database) / 1_000 / busy,
    logMegabytesPerSecond: sum(({ log }) => log) / 1_000,
    storedGigabytes: (sum(({ stored }) => stored) * 86_400 * days) / 1e6,
    redisCores: (reads * (redis.fixedMicros + redis.microsEach * nodes)) / 1e6,
    redisMegabytesPerSecond: (reads * redis.kilobytesEach * nodes) / 1_000,
  };
}

// Its folder may be reached through a link.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const number = (/** @type {string} */ name, /** @type {string} */ text) => {
    const value = Number(text);
    if (Number.isFinite(value) && value >= 0) return value;
    process.stderr.write(`capacity: --${name} must be a number of at least 0, but is "${text}"\n`);
    process.exit(2);
  };
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '0' },
      turns: { type: 'string', default: '0' },
      webhooks: { type: 'string', default: '0' },
      cores: { type: 'string', default: '2' },
      zones: { type: 'string', default: '3' },
      days: { type: 'string', default: '90' },
      costs: { type: 'string' },
    },
  });
  const page = values.costs ?? fileURLToPath(new URL('../docs/guides/plan-capacity.md', import.meta.url));
  const load = {
    call: number('calls', values.calls),
    turn: number('turns', values.turns),
    webhook: number('webhooks', values.webhooks),
  };
  const found = capacityOf(costsOf(readFileSync(page, 'utf8')), load, {
    cores: Math.max(1, number('cores', values.cores)),
    zones: Math.max(1, number('zones', values.zones)),
    days: number('days', values.days),
  });
  process.stdout.write(
    [
      `nodes       ${found.nodes} of ${values.cores} cores (${found.nodeCores.toFixed(1)} cores of work, one of ${values.zones} zones may be lost)`,
      `PostgreSQL  ${found.databaseCores.toFixed(1)} cores, ${found.logMegabytesPerSecond.toFixed(2)} MB/s of log, ${found.storedGigabytes.toFixed(0)} GB after ${values.days} days`,
      `Redis       ${(found.redisCores * 100).toFixed(1)} % of a core, ${found.redisMegabytesPerSecond.toFixed(1)} MB/s`,
      '',
    ].join('\n'),
  );
}
