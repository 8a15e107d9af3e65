// Buffers that are open at once in one node: how late each is flushed, and how much memory it uses. During the
// measurement as many buffers open as end, so that intake continues. A flush starts no turn.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { systemPlatform } from '../../src/infra/platform/index.js';
import { systemRandom, systemTime } from '../../cluster/index.js';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import { createSealer } from '../../src/infra/sealing/index.js';
import {
  migrate,
  openBatchWriters,
  openStore,
  startEmbeddedPostgres,
} from '../../src/infra/storage/index.js';
import { acceptTarget } from '../../src/automation/inbox/accept-target.js';
import { Buffers } from '../../src/automation/inbox/buffers.js';
import { flushLimits, flushTarget } from '../../src/automation/inbox/flush-target.js';
import { Flushes } from '../../src/automation/inbox/flushes.js';
import { MessageSealer } from '../../src/automation/messages/message-payload.js';
import { percentile } from '../support/load.js';

/** The longest window that a trigger may have. */
const windowMs = 60_000;
const measuredMs = 20_000;
const paceMs = 10;
const baselineMs = 100;
const tenants = 10;
const triggerId = '00000000-0000-4000-8000-00000000000a';

export async function measureWindows(windows: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: false });
  const databaseUrl = postgres.connectionString;
  await migrate({ databaseUrl });
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const inbox = writers.writer(acceptTarget);
  const target = flushTarget({ holdMs: windowMs, keepMs: 3_600_000 });
  const seal = new MessageSealer(
    createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random }),
  );
  // The session id contains the index of the window.
  const all = windows + Math.ceil((windows * measuredMs) / windowMs);
  const endsAt = new Float64Array(all);
  const late = new Float64Array(all).fill(Number.NaN);
  let flushed = 0;
  let failures = 0;
  const buffers = new Buffers({
    store,
    flushes: new Flushes({
      senderBlocks: { isRefused: async () => false },
      live: { get: () => undefined },
      seal,
      ids: systemPlatform.ids,
      writer: writers.writer(target, flushLimits),
    }),
    runner: {
      begin: ({ sessionId }) => {
        const index = Number.parseInt(sessionId.slice(-12), 16);
        late[index] = performance.now() - (endsAt[index] ?? Number.NaN);
        flushed += 1;
      },
    },
    measures: { flushed: () => undefined },
    time: systemTime,
    scopeOf: tenantScope,
    report: (_attempted, error) => {
      failures += 1;
      if (failures < 4) console.error(error);
    },
  });
  buffers.start();

  const accept = async (index: number): Promise<void> => {
    const scope = tenantScope(`00000000-0000-4000-8000-0000000000b${index % tenants}`);
    const sessionId = `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;
    const sealed = seal.seal(scope, { message: 'Where is my order?', context: {}, requestId: 'bench' });
    const bytes = sealed.byteLength;
    await inbox.write({
      tenant_id: scope.tenantId,
      trigger_id: triggerId,
      key: `message:${index.toString(36).padStart(6, '0')}`,
      session_id: sessionId,
      execution_id: null,
      state: 'buffered',
      asks: true,
      payload_hash: '',
      sealed,
      answer: null,
      hold_ms: windowMs,
      keep_ms: 3_600_000,
    });
    endsAt[index] = performance.now() + windowMs;
    buffers.touched(scope, { triggerId, sessionId }, windowMs, bytes);
  };

  // The lateness of a timer and a plain commit on this machine at the same time.
  const plain = new pg.Client({ connectionString: databaseUrl });
  await plain.connect();
  await plain.query('create table plain (at timestamptz default now())');
  const baseline: number[] = [];
  const measured = new AbortController();
  const measuringBaseline = (async () => {
    while (!measured.signal.aborted) {
      const endsAtMs = performance.now() + baselineMs;
      await sleep(baselineMs);
      await plain.query('insert into plain default values');
      baseline.push(performance.now() - endsAtMs);
    }
  })();

  const before = heapBytes();
  const startedAt = performance.now();
  const accepting = new Set<Promise<void>>();
  let begun = 0;
  let bytesEach = Number.NaN;
  let open = 0;
  let cpu = process.cpuUsage();
  while (begun < all) {
    const due = Math.min(all, Math.floor(((performance.now() - startedAt) / windowMs) * windows));
    for (; begun < due; begun += 1) {
      const one = accept(begun).finally(() => accepting.delete(one));
      accepting.add(one);
    }
    if (Number.isNaN(bytesEach) && begun >= windows * 0.98) {
      await Promise.all(accepting);
      open = buffers.waiting;
      bytesEach = (heapBytes() - before) / open;
      cpu = process.cpuUsage();
    }
    await sleep(paceMs);
  }
  await Promise.all(accepting);
  measured.abort();
  await measuringBaseline;
  await plain.end();
  const { user, system } = process.cpuUsage(cpu);
  const figures = late.filter((ms) => !Number.isNaN(ms)).sort();
  const shown = (share: number): string => percentile(figures, share).toFixed(1);
  console.log(
    `\n${open} buffers open at once in one node, ${Math.round((windows / windowMs) * 1_000)} opened and ended per second`,
  );
  console.log(
    `  ${flushed} flushed, lateness p50 ${shown(0.5)} ms, p99 ${shown(0.99)} ms, max ${shown(1)} ms`,
  );
  const baselineLate = Float64Array.from(baseline).sort();
  console.log(
    `  a timer and a plain commit for comparison: lateness p50 ${percentile(baselineLate, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(baselineLate, 0.99).toFixed(1)} ms`,
  );
  console.log(`  ${bytesEach.toFixed(0)} bytes of heap per open buffer`);
  console.log(`  ${((user + system) / 1e6 / (measuredMs / 1_000)).toFixed(2)} of a core for the node`);
  if (failures > 0) throw new Error(`${failures} flushes failed`);
  buffers.stop();
  await writers.close();
  await store.close();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
