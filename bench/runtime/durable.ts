import { fork, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { eventually } from '../../test/support/clocks/eventually.js';
import { freePort } from '../../test/support/servers/free-port.js';
import { startDatabase } from '../support/database.js';
import { peerProgram, restateServer } from '../support/peers.js';
import { durableCounterOver } from './counters.js';
import { latencyOf, medianRate, rateFor, ratesInTurn, ratio, type Row } from './measure.js';
import { startSecondProcess } from './second-process.js';

const counters = 1_000;
const rounds = 3;
const roundSeconds = 2;

/**
 * A counter that commits its sum before it answers, called from another process: an actor over PostgreSQL compared with
 * a virtual object of Restate behind its server, both with default settings and a thousand keys.
 */
export async function durableCalls(): Promise<Row[]> {
  const database = await startDatabase();
  const { counter, close } = durableCounterOver(database.url);
  const { node, stop } = await startSecondProcess([counter], database.url);
  const references = Array.from({ length: counters }, (_, index) =>
    node.actor(counter, 'bench', `c${index}`),
  );
  const restate = await startRestate();
  let turn = 0;
  const calls = {
    troupe: () => {
      turn += 1;
      return references[turn % counters]?.add({ amount: 1 }) ?? Promise.reject(new Error('no reference'));
    },
    restate: restate.add,
  };
  for (const call of Object.values(calls)) await rateFor(2, 64, call);
  const drive = (call: () => Promise<unknown>) => (seconds: number) => rateFor(seconds, 64, call);
  const rates = await ratesInTurn(
    { troupe: drive(calls.troupe), restate: drive(calls.restate) },
    rounds,
    roundSeconds,
  );
  const latency = {
    troupe: await latencyOf(300, calls.troupe),
    restate: await latencyOf(300, calls.restate),
  };
  await restate.stop();
  await stop();
  await close();
  await database.stop();
  return [
    { name: 'Restate virtual object, 64 in flight', value: medianRate(rates.restate), unit: 'calls/s' },
    { name: 'Troupe durable actor, 64 in flight', value: medianRate(rates.troupe), unit: 'calls/s' },
    { name: 'Troupe ÷ Restate, 64 in flight', value: ratio(rates.troupe, rates.restate), unit: '×', aim: 8 },
    { name: 'Restate virtual object, p50 at one in flight', value: latency.restate.p50Ms, unit: 'ms' },
    { name: 'Troupe durable actor, p50 at one in flight', value: latency.troupe.p50Ms, unit: 'ms' },
    { name: 'Restate virtual object, p99 at one in flight', value: latency.restate.p99Ms, unit: 'ms' },
    { name: 'Troupe durable actor, p99 at one in flight', value: latency.troupe.p99Ms, unit: 'ms' },
    {
      name: 'Troupe ÷ Restate, p50 at one in flight',
      value: latency.troupe.p50Ms / latency.restate.p50Ms,
      unit: '×',
      aim: 0.25,
      atMost: true,
    },
  ];
}

/** Restate's server and the service behind it, each in its own process. */
async function startRestate() {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-restate-'));
  const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
  const server = spawn(restateServer(), [], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      RESTATE_BASE_DIR: directory,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
      RESTATE_LOG_FILTER: 'error',
      RESTATE_DISABLE_TELEMETRY: 'true',
      DO_NOT_TRACK: '1',
    },
  });
  // Otherwise it would outlive a failed run.
  process.once('exit', () => server.kill('SIGKILL'));
  const service = fork(peerProgram('restate-counter.mjs'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const { port } = await started(service);
  const control = new Pool(`http://127.0.0.1:${admin}`);
  await eventually(() => isRegistered(control, port), {
    timeoutMs: 60_000,
    what: 'Restate has registered the service',
  });
  const pool = new Pool(`http://127.0.0.1:${ingress}`, { connections: 64 });
  let turn = 0;
  return {
    async add(): Promise<void> {
      turn += 1;
      const { statusCode, body } = await pool.request({
        path: `/Counter/c${turn % counters}/add`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '1',
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`Restate answered ${statusCode}: ${text}`);
    },
    async stop(): Promise<void> {
      await Promise.all([pool.destroy(), control.destroy()]);
      service.disconnect();
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function isRegistered(control: Pool, port: number): Promise<boolean> {
  try {
    const { statusCode, body } = await control.request({
      path: '/deployments',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
    });
    await body.dump();
    return statusCode < 300;
  } catch {
    // Not listening yet; the caller limits the retries.
    return false;
  }
}

function started(child: ChildProcess): Promise<{ readonly port: number }> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', (code) => reject(new Error(`the Restate service exited with code ${code}`)));
  });
}
