// What a session on another node costs: turns of the same sessions, asked at the node of each and at the other one by
// turns, in CPU time. Two nodes share a machine here, so nothing is said of the network between two.
import { readdirSync, readFileSync } from 'node:fs';
import { actorAddress, actorKind, processId, viewNumber } from '../../cluster/ids/ids.js';
import { slotOf } from '../../cluster/ring/hash.js';
import { buildRing, type Ring } from '../../cluster/ring/ring.js';
import type { NodeProcesses } from '../../test/support/servers/nodes.js';
import { first } from '../failover/setup.js';
import { record } from '../support/results.js';
import { median } from '../support/servers.js';
import { talk } from '../turns/clients.js';

const sessionsEach = 16;
const sessionKind = actorKind('troupe.actors.v1.SessionService');

export async function compareLinks(
  cluster: NodeProcesses,
  key: string,
  agent: string,
  rounds: number,
  seconds: number,
): Promise<void> {
  const sessions = await sessionsByNode(cluster, key, agent);
  const [local, crossing] = [sessions, sessions.toReversed()];
  await costOf(cluster, { key, agent, seconds: 15, sessions: local });
  await costOf(cluster, { key, agent, seconds: 15, sessions: crossing });
  const found = { local: [] as number[], crossing: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    found.local.push(await costOf(cluster, { key, agent, seconds, sessions: local }));
    found.crossing.push(await costOf(cluster, { key, agent, seconds, sessions: crossing }));
  }
  const ratios = found.crossing.map((one, round) => one / (found.local[round] ?? one));
  console.log(
    `a turn takes ${median(found.local).toFixed(2)} ms of the nodes if its session is on the node that is asked, ` +
      `${median(found.crossing).toFixed(2)} ms if it is on the other; ` +
      `ratio ${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`,
  );
  record({
    bench: 'scale',
    what: 'a turn whose session is on the other node',
    unit: 'ms of CPU',
    ours: found.crossing,
    against: 'one whose session is on the node that is asked',
    theirs: found.local,
    better: 'less',
  });
}

interface Load {
  readonly key: string;
  readonly agent: string;
  readonly seconds: number;
  /** Ids of sessions for each node. */
  readonly sessions: readonly (readonly string[])[];
}

/** Milliseconds of both nodes' CPU time for each turn. */
async function costOf({ nodes }: NodeProcesses, load: Load): Promise<number> {
  const { key, agent, seconds } = load;
  const before = nodes.map(({ pid }) => cpuMs(pid));
  const figures = await Promise.all(
    nodes.map(({ url }, node) => {
      const sessionIds = load.sessions[node] ?? [];
      const port = Number(new URL(url).port);
      return talk({ port, key, agent, seconds, sessions: sessionIds.length, sessionIds });
    }),
  );
  const used = nodes.reduce((sum, { pid }, node) => sum + cpuMs(pid) - (before[node] ?? 0), 0);
  return used / figures.reduce((sum, { turns }) => sum + turns, 0);
}

/** Of all its threads. */
function cpuMs(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return sum + Number(nanoseconds) / 1e6;
  }, 0);
}

/** New sessions until each node has enough of its own. */
async function sessionsByNode(
  cluster: NodeProcesses,
  key: string,
  agent: string,
): Promise<readonly (readonly string[])[]> {
  const node = first(cluster);
  const ring = await ringOf(cluster);
  const { tenant_id: tenant } = cluster.bootstrap;
  const found = cluster.nodes.map((): string[] => []);
  while (found.some(({ length }) => length < sessionsEach)) {
    const { status, json, text } = await node.client.call('POST', '/api/sessions', {
      key,
      body: { agent_id: agent },
    });
    if (status !== 201) throw new Error(`POST /api/sessions: ${status} ${text}`);
    const id = String(json.data.session_id);
    const owner = ring.ownerOf(slotOf(actorAddress(sessionKind, tenant, id)))?.process ?? '';
    const own = found[cluster.nodes.findIndex(({ name }) => owner.startsWith(`${name}-`))];
    if (own !== undefined && own.length < sessionsEach) own.push(id);
  }
  return found;
}

async function ringOf(cluster: NodeProcesses): Promise<Ring> {
  const { nodes } = await cluster.cluster(first(cluster));
  const processes = (nodes as { process: string }[]).map(({ process }) => processId(process));
  const members = processes
    .toSorted()
    .map((process) => ({ process, address: '', weight: 1, roles: [], host: '', pid: 0 }));
  return buildRing({ number: viewNumber(1), hash: '', members });
}
