// npm run bench:runtime, or: npm run bench:runtime -- durable failover
//
// Compares the runtime with alternatives. Each comparison alternates within one run, so that its ratios hold on any
// machine and under any load; absolute figures do not. It starts everything it needs (PostgreSQL, Redis, other
// processes). `durable` and `volatile` compare with Restate and Effect Cluster, whose packages (some 300 MB) are
// installed in bench/peers at the first run.
import { coldActivation } from './activation.js';
import { crossNode } from './cross-node.js';
import { durableCalls } from './durable.js';
import { volatileCalls } from './entities.js';
import { failover } from './failover.js';
import { inProcess } from './in-process.js';
import { isMet, print, type Row } from './measure.js';
import { memoryOfIdleActors } from './memory.js';
import { record } from '../support/results.js';

const parts: Readonly<Record<string, readonly [title: string, run: () => Promise<Row[]>]>> = {
  'in-process': ['Calls within one process', inProcess],
  'cross-node': ['Calls and streams between two processes', crossNode],
  activation: ['Activation from PostgreSQL', coldActivation],
  durable: ['Durable calls, compared with Restate', durableCalls],
  volatile: ['Volatile calls between two processes, compared with Effect Cluster', volatileCalls],
  memory: ['Memory', memoryOfIdleActors],
  failover: ['Failover of real processes', failover],
};
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => parts[name] === undefined);
if (unknown.length > 0) {
  console.error(`bench: unknown part ${unknown.join(', ')}; use ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}
const rows: Row[] = [];
const failed: string[] = [];
for (const [name, [title, run]] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    const measured = await run();
    print(title, measured);
    rows.push(...measured);
    for (const { name: what, value, unit, aim, atMost } of measured) {
      const [, against, rest] = /^Troupe[^÷]* ÷ ([^,]+), (.+)$/.exec(what) ?? [];
      record({
        bench: 'runtime',
        what: rest === undefined ? what : `${title}: ${rest}`,
        unit: rest === undefined ? unit : 'as a ratio',
        ours: [value],
        // The rows are ratios already, computed pair by pair.
        ...(against === undefined ? {} : { against, theirs: [1] }),
        better: atMost === true || /^(?:us|ms|B|KB|MB)$/.test(unit) ? 'less' : 'more',
        ...(aim === undefined ? {} : { aim }),
      });
    }
  } catch (error) {
    failed.push(name);
    console.log(`\n${title}: not measured`);
    console.error(error);
  }
}
const aims = rows.map(isMet).filter((met) => met !== undefined);
console.log(`\n${aims.filter(Boolean).length} of ${aims.length} aims met`);
if (failed.length > 0) console.log(`not measured: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);
