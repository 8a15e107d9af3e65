import { addressText } from '../../cluster/ids/ids.js';
import { SeededRandom } from '../../cluster/simulation/virtual-time.js';
import { judgeCalls, type SentCall } from './checkers.js';
import { drawFaults, endOf, type Fault } from './faults.js';
import { ledgerBound, World, type Plant, type SimulatedProcess } from './world.js';

export interface RunOptions {
  readonly seed: number;
  /** In place of those that the seed draws. */
  readonly faults?: readonly Fault[];
  readonly plants?: readonly Plant[];
}

export interface Verdict {
  readonly seed: number;
  readonly nodes: number;
  readonly faults: readonly Fault[];
  readonly violations: readonly string[];
  readonly calls: number;
  readonly answered: number;
  readonly effects: number;
  readonly events: number;
}

const settleMs = 4_000;
const faultSpanMs = 9_000;
/** The promise: so long after the last fault everything is served again, if most workers lived on. */
const recoverMs = 10_000;
/** And so long when they did not: the rest must first make sure that nobody goes on without them. */
const recoverLateMs = 25_000;
const probeDeadlineMs = 3_000;
const drainMs = 10_000;
const ledgerKeys = ['a', 'b', 'c', 'd', 'bounded'];
const workerKeys = ['w1', 'w2'];

/** One life of a simulated cluster under load and faults, and everything that was found wrong with it. */
export async function run({ seed, faults: given, plants = [] }: RunOptions): Promise<Verdict> {
  const draw = new SeededRandom(seed ^ 0x5eed);
  const nodes = draw.chance(0.8) ? 3 : draw.between(2, 5);
  const drawn = drawFaults(draw, nodes, faultSpanMs);
  const faults = given ?? drawn;
  const world = new World(seed, nodes, plants);
  const calls: SentCall[] = [];
  world.startAll();
  await world.time.advance(settleMs);
  const load = new Load(world, calls);
  load.start();
  for (const fault of faults) world.time.after(fault.atMs, () => inject(world, fault));
  const lastMs = Math.max(0, ...faults.map(endOf));
  await world.time.advance(lastMs);
  await world.time.advance(recoverMs);
  let late = await probeAll(world, recoverMs);
  if (late.length > 0 && !isMild(faults, nodes)) {
    await world.time.advance(recoverLateMs - recoverMs - probeDeadlineMs);
    late = await probeAll(world, recoverLateMs);
  }
  world.violations.push(...late);
  load.stop();
  await world.time.advance(drainMs);
  world.violations.push(...judgeCalls(calls, world.tables, ledgerBound));
  return {
    seed,
    nodes,
    faults,
    violations: world.violations,
    calls: calls.length,
    answered: calls.filter((call) => call.outcome === 'answered').length,
    effects: world.effects.count,
    events: world.time.eventsRun,
  };
}

/** Calls from all living nodes, some of them twice at once from two nodes under one request id. */
class Load {
  readonly #world: World;
  readonly #calls: SentCall[];
  #sent = 0;
  #isOn = true;

  constructor(world: World, calls: SentCall[]) {
    this.#world = world;
    this.#calls = calls;
  }

  start(): void {
    this.#world.time.after(this.#world.random.between(30, 200), () => {
      if (!this.#isOn) return;
      this.#send();
      this.start();
    });
  }

  stop(): void {
    this.#isOn = false;
  }

  #send(): void {
    const { random, living } = this.#world;
    if (living.length === 0) return;
    this.#sent += 1;
    const id = `r${this.#sent}`;
    const isLong = random.chance(0.15);
    const key = random.pick(isLong ? workerKeys : ledgerKeys);
    const times = random.chance(0.15) ? 2 : 1;
    for (let time = 0; time < times; time += 1) this.#call(random.pick(living), isLong, key, id);
  }

  #call(from: SimulatedProcess, isLong: boolean, key: string, id: string): void {
    const kind = isLong ? from.worker : from.ledger;
    const target = from.node.actor(kind, 'acme', key);
    const counter = addressText({ kind: kind.name, group: 'acme', key });
    const call: SentCall = {
      id,
      counter,
      origin: from.host,
      sentAtMs: this.#world.time.monotonicMs(),
      outcome: 'open',
      sum: undefined,
      error: undefined,
    };
    this.#calls.push(call);
    target.add({ amount: 1 }, { requestId: id, deadlineMs: 9_000 }).then(
      ({ sum }) => {
        call.outcome = 'answered';
        call.sum = sum;
      },
      (error: unknown) => {
        call.outcome = 'failed';
        call.error = String(error);
      },
    );
  }
}

/** Promise 5: every actor is served, from every node. Says which are not. */
async function probeAll(world: World, afterMs: number): Promise<string[]> {
  const startedAtMs = world.time.monotonicMs();
  const unserved: string[] = [];
  let asked = 0;
  for (const { node, ledger, worker, host } of world.living) {
    for (const [kind, keys] of [
      [ledger, ledgerKeys],
      [worker, workerKeys],
    ] as const) {
      for (const key of keys) {
        asked += 1;
        node
          .actor(kind, 'acme', key)
          .where({}, { deadlineMs: probeDeadlineMs })
          .catch((error: unknown) => {
            const what = `${key} was not served from ${host.name} ${afterMs} ms after the last fault`;
            unserved.push(`${startedAtMs}: ${what}: ${String(error)}`);
          });
      }
    }
  }
  if (asked === 0) unserved.push(`${startedAtMs}: no node lives`);
  await world.time.advance(probeDeadlineMs + 200);
  return unserved;
}

/** Whether most workers lived on, and the member store did not forget while others went. */
function isMild(faults: readonly Fault[], nodes: number): boolean {
  const hit = new Set<number>();
  let forgets = false;
  for (const fault of faults) {
    switch (fault.kind) {
      case 'kill':
      case 'vanish':
      case 'drain':
      case 'lease_removed':
      case 'freeze':
      case 'pause':
        hit.add(fault.node);
        break;
      case 'members_flushed':
      case 'members_failover':
      case 'members_away':
        forgets = true;
        break;
      case 'cut':
      case 'cut_one_way':
      case 'store_away':
      case 'slow_store':
      case 'unknown_commits':
      case 'slow_network':
      case 'wall_clock':
        break;
    }
  }
  return hit.size * 2 < nodes && !(forgets && hit.size > 0);
}

function inject(world: World, fault: Fault): void {
  const later = (forMs: number, action: () => void): void => {
    world.time.after(forMs, action);
  };
  const hostAt = (place: number) => world.places[place]?.host;
  switch (fault.kind) {
    case 'kill':
      world.kill(fault.node);
      break;
    case 'vanish':
      world.kill(fault.node, { vanish: true });
      break;
    case 'drain':
      world.drain(fault.node);
      break;
    case 'freeze':
    case 'pause': {
      const host = hostAt(fault.node);
      if (fault.kind === 'pause') host?.pause();
      else host?.freeze();
      later(fault.forMs, () => host?.thaw());
      break;
    }
    case 'cut':
    case 'cut_one_way': {
      const one = hostAt(fault.node)?.name ?? '';
      const other = hostAt(fault.other)?.name ?? '';
      world.network.cut(one, other);
      if (fault.kind === 'cut') world.network.cut(other, one);
      later(fault.forMs, () => {
        world.network.heal(one, other);
        world.network.heal(other, one);
      });
      break;
    }
    case 'members_away':
      count(world.membersAway, fault.node, 1);
      later(fault.forMs, () => count(world.membersAway, fault.node, -1));
      break;
    case 'store_away':
      count(world.storeAway, fault.node, 1);
      later(fault.forMs, () => count(world.storeAway, fault.node, -1));
      break;
    case 'lease_removed':
      world.removeLease(fault.node);
      break;
    case 'slow_store':
      world.storeDelayMs.set(fault.node, fault.delayMs);
      later(fault.forMs, () => world.storeDelayMs.delete(fault.node));
      break;
    case 'unknown_commits':
      world.unknownCommits += 1;
      later(fault.forMs, () => {
        world.unknownCommits -= 1;
      });
      break;
    case 'slow_network':
      world.network.latencyMs = [20, 120];
      later(fault.forMs, () => {
        world.network.latencyMs = [0.2, 2];
      });
      break;
    case 'members_flushed':
      world.members.flush();
      break;
    case 'members_failover': {
      const restore = world.members.copy();
      later(fault.lagMs, restore);
      break;
    }
    case 'wall_clock':
      hostAt(fault.node)?.setWallOffset(fault.offsetMs);
      break;
  }
}

function count(away: Map<number, number>, node: number | 'all', change: number): void {
  const place = node === 'all' ? -1 : node;
  away.set(place, (away.get(place) ?? 0) + change);
}
