// Several whole nodes over one database and one Redis, each a real process, as an operator would run them.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperationTable } from '../../../src/http/operations/index.js';
import type { ServeParts } from '../../../src/app/command/serve.js';
import type { Bootstrap } from '../../../src/app/seed/index.js';
import { type CallResult, Client, type Json } from '../clients/client.js';
import { createDatabase } from '../database/database.js';
import { eventually } from '../clocks/eventually.js';
import { operatorToken } from './node.js';
import { type Program, runProgram } from './program.js';
import { sharedRedisUrl } from './redis.js';

export interface NodeProcess {
  /** `node-1`, `node-2`, …: the start of its process id. */
  readonly name: string;
  readonly url: string;
  /** Checks the headers that every answer has. */
  readonly client: Client;
  readonly program: Program;
  readonly pid: number;
  /** As a power cut would end it. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | string>;
}

export interface NodeProcesses {
  readonly nodes: readonly NodeProcess[];
  readonly bootstrap: Bootstrap;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly dataDir: string;
  /** One more, after the others; of another tree of the project, if one is named. */
  add(environment?: Readonly<Record<string, string>>, tree?: string): Promise<NodeProcess>;
  /** Resolves once the node sees so many members that hold slots. */
  awaitMembers(of: NodeProcess, count: number): Promise<void>;
  /** The answer of `GET /api/v1/cluster` there. */
  cluster(of: NodeProcess): Promise<Json>;
}

export interface NodesOptions {
  readonly count?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** A database or Redis of the test's own. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** The built tree of the project that the first nodes run; this one by default. */
  readonly tree?: string;
  /** The default is `patientParts`; `{}` runs the nodes as they are delivered, for tests of a lease or a limit itself. */
  readonly parts?: ServeParts;
}

/**
 * Nodes on a machine that does other work as well may pause for seconds: with the leases of production each such pause
 * ends a node. Exits are seen by closed connections and found out by probes, which takes no longer than in production.
 */
export const patientParts: ServeParts = {
  cluster: {
    leaseMs: 10_000,
    leaseActMs: 8_000,
    leaseAdmitMs: 5_000,
    watchdogMs: 7_000,
    memberStoreTimeoutMs: 2_500,
    probeTimeoutMs: 1_500,
    seizeSilenceMs: 4_000,
    linkSilenceMs: 6_000,
  },
  // A late event loop is the machine's there, and a refusal for it no answer that a test waits for.
  limits: { lagMsMax: 60_000 },
};

const patience = { timeoutMs: 90_000, everyMs: 50 };

/** The first makes the demo tenant; all are in one view when this resolves. They end with the test. */
export async function startNodes(
  t: { teardown(fn: () => Promise<void>): void },
  options: NodesOptions = {},
): Promise<NodeProcesses> {
  const { count = 3, parts = patientParts } = options;
  const databaseUrl = options.databaseUrl ?? (await createDatabase(t)).url;
  const redisUrl = options.redisUrl ?? (await sharedRedisUrl());
  const dataDir = await mkdtemp(join(tmpdir(), 'troupe-nodes-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const nodes: NodeProcess[] = [];
  t.teardown(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
  });
  let number = 0;

  async function add(
    environment: Readonly<Record<string, string>> = {},
    tree = options.tree,
  ): Promise<NodeProcess> {
    number += 1;
    const name = `node-${number}`;
    const settings = {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      TROUPE_NODE_ID: name,
      TROUPE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      TROUPE_DATA_DIR: dataDir,
      TROUPE_HTTP_PORT: '0',
      TROUPE_GRPC_PORT: '0',
      TROUPE_SEED: number === 1 ? 'demo' : 'none',
      TROUPE_SIM: 'on',
      TROUPE_OPERATOR_TOKEN: operatorToken,
      TROUPE_EGRESS_ALLOW: '127.0.0.0/8',
      TROUPE_TEST_NODE_PARTS: JSON.stringify(parts),
      ...options.environment,
      ...environment,
    };
    const node = await startNode(name, settings, tree);
    nodes.push(node);
    return node;
  }

  await add();
  await Promise.all(Array.from({ length: count - 1 }, () => add()));
  nodes.sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
  const bootstrap = JSON.parse(await readFile(join(dataDir, 'bootstrap.json'), 'utf8')) as Bootstrap;
  await Promise.all(nodes.map((node) => awaitMembers(node, count)));
  return { nodes, bootstrap, databaseUrl, redisUrl, dataDir, add, awaitMembers, cluster };
}

/** A node that a busy machine has made late refuses requests with 503 for a moment; it is asked again. */
export async function callServed(
  { client }: Pick<NodeProcess, 'client'>,
  ...[method, path, options]: Parameters<Client['call']>
): Promise<CallResult> {
  const answer = await eventually(
    async () => {
      const one = await client.call(method, path, options);
      return one.status === 503 ? undefined : one;
    },
    { ...patience, what: `an answer of ${path}` },
  );
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status} ${answer.text}`);
  return answer;
}

async function cluster(node: NodeProcess): Promise<Json> {
  return (await callServed(node, 'GET', '/api/v1/cluster', { token: operatorToken })).json.data;
}

/** The failure says which nodes were seen, and how this one got on: one that gets no core ends itself. */
async function awaitMembers(node: NodeProcess, count: number): Promise<void> {
  let seen: readonly unknown[] = [];
  const check = async (): Promise<boolean> => {
    seen = (await cluster(node)).nodes;
    return seen.length === count;
  };
  const what = `${node.url} sees ${count} members`;
  await eventually(check, { timeoutMs: 60_000, what }).catch((error: unknown) => {
    const log = node.program.output().slice(-8_000);
    throw new Error(`${what}: it saw ${JSON.stringify(seen)} and wrote ${log}`, { cause: error });
  });
}

const program = 'dist/test/support/servers/node-program.js';
/** The same as few files, which a run of many tests makes. */
const bundled = process.env['TROUPE_TEST_NODE'];

async function startNode(
  name: string,
  environment: Readonly<Record<string, string>>,
  tree: string | undefined,
): Promise<NodeProcess> {
  const script = tree === undefined && bundled !== undefined ? bundled : program;
  const running = runProgram(script, ['serve'], environment, tree);
  const url = await eventually(
    () => {
      if (running.process.exitCode !== null) throw new Error(`a node did not start: ${running.output()}`);
      return /"url":"([^"]+)","msg":"serving"/.exec(running.output())?.[1];
    },
    { ...patience, what: 'a node serves' },
  ).catch((error: unknown) => {
    running.process.kill('SIGKILL');
    throw error;
  });
  const end = (signal: NodeJS.Signals): Promise<number | string> => {
    if (running.process.exitCode === null && running.process.signalCode === null)
      running.process.kill(signal);
    return running.ended;
  };
  return {
    name,
    url,
    program: running,
    pid: running.process.pid ?? 0,
    client: new Client(url, new OperationTable([])),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}
