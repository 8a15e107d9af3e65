import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemTime, type Time } from '../../../cluster/index.js';
import { readSettings } from '../../../src/kernel/config/index.js';
import { createLog } from '../../../src/infra/diagnostics/index.js';
import { nodeLimits, type NodeParts, type RunningNode, startNode } from '../../../src/app/main.js';
import type { Bootstrap } from '../../../src/app/seed/index.js';
import { Client } from '../clients/client.js';
import { createDatabase } from '../database/database.js';
import { type PlaceUser, takePlace } from './places.js';

/** What a test of one tenant needs of a node. The node may serve other tests at the same time. */
export interface TenantNode {
  readonly node: RunningNode;
  /** The tenant, its owner, a key and a published agent. */
  readonly bootstrap: Bootstrap;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** Calls operations and holds every answer against its declaration. */
  readonly client: Client;
  /** Lines of the log so far, of all tenants. */
  readonly log: () => string;
}

export interface TestNode extends TenantNode {
  /** Lets minutes pass for the node's windows and limits, without anybody waiting. */
  readonly passMs: (milliseconds: number) => void;
  readonly stop: () => Promise<void>;
}

export interface TestNodeOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** A database of another node, to run two on one. */
  readonly databaseUrl?: string;
  readonly dataDir?: string;
  /** For tests of data shared between nodes: on a busy machine Redis may need longer than a caller waits. */
  readonly limits?: Partial<NonNullable<NodeParts['limits']>>;
  /** How long before now the clock of the node begins. */
  readonly agoMs?: number;
  /** Answers for DNS. */
  readonly lookUp?: (name: string, type: string) => Promise<unknown>;
}

export const operatorToken = 'operator-token-of-tests-in-one-process';
/**
 * Nodes of one process pause together when the machine is busy: the watchdog of one would end the whole test, and each
 * would remove the others. Tests with real processes cover these bounds.
 */
const patientCluster = {
  leaseMs: 100_000,
  leaseActMs: 90_000,
  leaseAdmitMs: 80_000,
  watchdogMs: 80_000,
  linkSilenceMs: 60_000,
};

const masterKey = Buffer.alloc(32, 7).toString('base64');

/** A whole node in this process, with a database of its own and the demo tenant. */
export async function startTestNode(
  t: PlaceUser & { teardown(fn: () => Promise<void>): void },
  options: TestNodeOptions = {},
): Promise<TestNode> {
  await takePlace(t);
  const databaseUrl = options.databaseUrl ?? (await createDatabase(t)).url;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'troupe-test-')));
  if (options.dataDir === undefined) t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const settings = readSettings({
    DATABASE_URL: databaseUrl,
    TROUPE_MASTER_KEY: masterKey,
    TROUPE_DATA_DIR: dataDir,
    TROUPE_HTTP_PORT: '0',
    TROUPE_GRPC_PORT: '0',
    TROUPE_SEED: 'demo',
    TROUPE_OPERATOR_TOKEN: operatorToken,
    TROUPE_EGRESS_ALLOW: '127.0.0.0/8',
    // As with `npm start`: mails of tests come from loopback, which no domain authenticates.
    TROUPE_MAIL_SENDER_CHECK: 'off',
    ...options.environment,
  });
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  const log = createLog({
    level: 'debug',
    destination: { write: take, writeAscii: take, flushSync: () => undefined },
  });
  const clock = movableTime(options.agoMs ?? 0);
  const node = await startNode({
    settings,
    nodeId: 'test-node',
    log,
    time: clock.time,
    // The test, its vendors and often other nodes share this event loop: on a busy machine they make it late.
    limits: { ...nodeLimits, lagMsMax: Number.POSITIVE_INFINITY, ...options.limits },
    cluster: patientCluster,
    ...(options.lookUp !== undefined && { lookUp: options.lookUp }),
  });
  const stop = (): Promise<void> => node.stop(AbortSignal.timeout(5_000));
  t.teardown(stop);
  if (node.bootstrap === undefined) throw new Error('the node was not seeded');
  return {
    node,
    bootstrap: node.bootstrap,
    databaseUrl,
    dataDir,
    client: new Client(node.baseUrl, node.table),
    log: () => lines.join(''),
    passMs: clock.passMs,
    stop,
  };
}

/** The machine's clock, which begins earlier if asked, and which a test may set forward. Timers run on the real one. */
function movableTime(agoMs: number): { time: Time; passMs: (milliseconds: number) => void } {
  let aheadMs = 0;
  return {
    time: {
      ...systemTime,
      monotonicMs: () => systemTime.monotonicMs() + aheadMs,
      wallMs: () => systemTime.wallMs() - agoMs + aheadMs,
    },
    passMs: (milliseconds) => {
      aheadMs += milliseconds;
    },
  };
}
