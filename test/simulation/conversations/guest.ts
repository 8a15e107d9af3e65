import type { Kind } from '../../../cluster/activation/kind.js';
import type { FenceStore, WriteOutcome } from '../../../cluster/fencing/fence.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { addressText, processId } from '../../../cluster/ids/ids.js';
import { type ActorKindOf, type Reference, referencesTo, sleep } from '../../../cluster/index.js';
import type { ClusterNode } from '../../../cluster/node/node.js';
import { Recovery } from '../../../cluster/recovery/recovery.js';
import { MemoryFenceStore } from '../../../cluster/simulation/fence-store.js';
import type { SimulatedHost } from '../../../cluster/simulation/host.js';
import { SeededRandom } from '../../../cluster/simulation/virtual-time.js';
import { tracedFences } from '../../../cluster/trace/traced-fences.js';
import type { SessionActorParts, SessionService } from '../../../src/conversations/sessions/parts.js';
import { turnRecovery } from '../../../src/conversations/sessions/recovery.js';
import type {
  SessionLoad,
  SessionLoaded,
  SessionWrite,
  SessionWritten,
} from '../../../src/conversations/sessions/rows.js';
import { combinedWrite } from '../../../src/conversations/sessions/combined-write.js';
import { sessionActor } from '../../../src/conversations/sessions/session.actor.js';
import { TurnsAtWork } from '../../../src/conversations/sessions/turns-at-work.js';
import { createTurns, type TurnsOptions } from '../../../src/conversations/turns/index.js';
import { toPlatformError } from '../../../src/infra/runtime/index.js';
import { LateCaller } from '../../../src/infra/runtime/late-caller.js';
import { limitsOf } from '../../../src/kernel/plans/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { vendorAccess } from '../../../src/models/calls/index.js';
import { Ledger } from '../../../src/models/usage/index.js';
import { goneMembers } from '../../../src/models/usage/processes.js';
import type { Guest, GuestNode, GuestWay } from '../guest.js';
import type { World } from '../world.js';
import { simulatedAgent } from './agent.js';
import { CheckedTurnEffects } from './effects.js';
import { CheckedCallbacks } from './message-checks.js';
import { MessageNode, nameOfClaims } from './message-node.js';
import { MessageTables } from './message-tables.js';
import type { ConversationPlant } from './plants.js';
import { SimulatedReceiver } from './receiver.js';
import { keyOf, SessionTables } from './session-tables.js';
import { type Statement, twinWriters } from './twin-writers.js';
import { UsageTables } from './usage-tables.js';
import { pricedTarget, simulatedCall, SimulatedVendor } from './vendor.js';

type Rows = FenceStore<SessionLoad, SessionLoaded, SessionWrite, SessionWritten>;

/** The conversations of one process. */
export interface ConversationNode {
  readonly host: SimulatedHost;
  readonly kind: ActorKindOf<SessionService>;
  readonly session: (tenantId: string, sessionId: string) => Reference<SessionService>;
  readonly messages: MessageNode;
  /** Whether it accepts requests. */
  isOpen: boolean;
}

const rowLocked = { outcome: 'held_up', error: new Error('a row is locked') } as const;
/** How long a locked row is waited for. */
const lockMs = 500;
const access = vendorAccess({ vendors: {}, compatible: [], models: [], sim: false });
const target = pricedTarget(access.catalogue);
const limits = limitsOf('enterprise', {});

/** Sessions, turns and the ledger of the platform on every simulated node, over in-memory versions of their rows. */
export class ConversationGuest implements Guest {
  readonly usage: UsageTables;
  readonly tables: SessionTables;
  readonly store: MemoryFenceStore<SessionLoad, SessionLoaded, SessionWrite, SessionWritten>;
  readonly nodes = new Map<SimulatedHost, ConversationNode>();
  readonly vendor: SimulatedVendor;
  readonly effects: CheckedTurnEffects;
  /** Sessions whose handoff was answered and whose end was not asked for yet. */
  readonly handedOff = new Set<string>();
  readonly messages: MessageTables;
  readonly receiver: SimulatedReceiver;
  /** Sessions in which, since their handoff was answered, no answer may leave. */
  readonly silenced = new Set<string>();
  /** When processes ended. */
  readonly deaths = new Map<string, number>();
  /** Sessions whose rows another transaction holds locked. */
  readonly locked = new Set<string>();
  /** Tenants whose counters and messages another transaction holds locked. */
  readonly lockedTenants = new Set<string>();
  /** Failures that were reported and are repeated. */
  reports = 0;
  /** Reports of failures that none of the faults explains. */
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #plants: ReadonlySet<ConversationPlant>;
  /** The newest activation of each session in each process. */
  readonly #epochs = new Map<string, number>();

  constructor(world: World, seed: number, plants: readonly ConversationPlant[]) {
    this.#world = world;
    this.#plants = new Set(plants);
    this.#random = new SeededRandom(seed ^ 0x5e55);
    const now = (): number => world.time.wallMs();
    this.usage = new UsageTables(now, this.#plants.has('closed_twice'));
    this.tables = new SessionTables(this.usage, now, this.#plants.has('outcome_reopened'));
    this.tables.onLostMessage = ({ id, session_id: session, number }) =>
      void world.violations.push(`message ${id} of ${session} was lost: number ${number} is taken`);
    this.store = new MemoryFenceStore(this.tables, world.time, { delayMs: () => 1, fault: () => 'none' });
    this.messages = new MessageTables(this.tables, now, {
      claimsTwice: this.#plants.has('message_claimed_twice'),
      isUnordered: this.#plants.has('answers_unordered'),
      seesNoneBefore: this.#plants.has('messages_overtake'),
    });
    this.tables.onControl = (tenantId) => this.#tellOfControl(tenantId);
    const callbacks = new CheckedCallbacks(this, {
      violations: world.violations,
      isExcused: (process) => world.effects.isExcused(process),
      isGone: (process) =>
        world.living.some(({ host, node }) => host.name !== process && node.surelyGone(processId(process))),
    });
    this.receiver = new SimulatedReceiver({
      random: new SeededRandom(seed ^ 0x0b0c),
      now: () => world.time.monotonicMs(),
      onSent: (callback) => callbacks.happened(callback),
    });
    this.vendor = new SimulatedVendor(this.#random);
    this.effects = new CheckedTurnEffects({
      violations: world.violations,
      now: () => world.time.monotonicMs(),
      hasEnded: (actor, id) => this.tables.ended.has(keyOf(actor.split('\0').at(-2) ?? '', id)),
      isHandedOff: (actor) => this.handedOff.has(actor.split('\0').at(-1) ?? ''),
      isExcused: (process) => world.effects.isExcused(process),
    });
  }

  copy(): () => void {
    const restores = [this.store.copy(), this.tables.copy(), this.usage.copy(), this.messages.copy()];
    return () => {
      for (const restore of restores) restore();
    };
  }

  join(way: GuestWay): GuestNode {
    const { host, transit } = way;
    const { config } = this.#world;
    const process = processId(host.name);
    let node: ClusterNode | undefined;
    const kind = sessionActor(
      new GroupCommit(this.#storeOf(way), config, host.time, this.#random),
      this.#partsOf(way, (group, key) => self(group, key)),
    );
    const late = new LateCaller();
    const self = referencesTo(kind, late);
    const recovery = new Map<'turns', Recovery<Parameters<ReturnType<typeof turnRecovery>['run']>[0]>>();
    const { ledger, writers } = this.#ledgerOf(way, (other) => node?.surelyGone(processId(other)) ?? false);
    this.#ledgers.set(host, ledger);
    const messages = new MessageNode({
      name: host.name,
      tables: this.messages,
      receiver: this.receiver,
      transit,
      writers,
      session: self,
      time: host.time,
      random: this.#random,
      report: this.#report,
      ignoresLook: this.#plants.has('callback_unlooked'),
      keepsClaims: this.#plants.has('claims_kept'),
    });
    host.onDeath(() => this.deaths.set(host.name, this.#world.time.monotonicMs()));
    const entered: ConversationNode = { host, kind, session: self, messages, isOpen: false };
    this.nodes.set(host, entered);
    const kinds: Kind[] = [kind];
    return {
      kinds,
      started: (started) => {
        node = started;
        late.caller = started.caller;
        const source = turnRecovery(
          (slots, limit, beyond) =>
            this.#plants.has('never_recovered')
              ? Promise.resolve([])
              : transit(() => this.tables.unfinished(slots, process, limit, beyond)),
          self,
          this.#report,
        );
        const turns = new Recovery(started, source, config, host.time, this.#random, () => {
          this.reports += 1;
        });
        recovery.set('turns', turns);
        turns.start();
        ledger.start();
        messages.start(started);
        entered.isOpen = true;
      },
      stopping: async (stopping) => {
        entered.isOpen = false;
        recovery.get('turns')?.stop();
        await stopping.beginLeave();
        await messages.leave();
      },
      stopped: async () => {
        await ledger.stop();
        await writers.drained();
      },
    };
  }

  /** The change feed: each process learns of it a moment later, or with the next change. */
  #tellOfControl(tenantId: string): void {
    for (const { host, messages } of this.nodes.values()) {
      if (!host.isDead)
        this.#world.time.after(this.#world.network.delayMs(), () =>
          host.deliver(() => messages.changed(tenantId)),
        );
    }
  }

  readonly #ledgers = new Map<SimulatedHost, Ledger>();

  readonly #report = (attempted: string, error: unknown): void => {
    this.reports += 1;
    if (error instanceof TypeError || error instanceof RangeError) {
      this.problems.push(`${attempted}: ${error.stack ?? String(error)}`);
    }
  };

  #ledgerOf({ host, transit }: GuestWay, surelyGone: (process: string) => boolean) {
    const writers = twinWriters({
      time: host.time,
      random: this.#random,
      transit,
      statements: new Map<string, Statement>([
        ['write_books', (rows: readonly never[]) => this.usage.record(rows)],
        ['close_orphans', (rows: readonly never[]) => this.usage.closeOrphans(rows)],
        // Telemetry is not simulated.
        ['batch_calls', (rows: readonly never[]) => rows.map(() => 'recorded')],
        ['tell_untold_calls', (rows: readonly never[]) => rows.map(() => 'looked')],
        ...this.messages.statements(nameOfClaims(host.name)),
      ]),
      isLocked: (rows) =>
        rows.some((row) => 'tenant_id' in row && this.lockedTenants.has(String(row.tenant_id))),
    });
    const ledger = new Ledger(
      {
        writers,
        rows: this.usage.client(transit),
        time: host.time,
        log: { report: this.#report, note: () => undefined },
      },
      { isGone: goneMembers({ surelyGone }, host.time) },
    );
    return { ledger, writers };
  }

  #partsOf({ host }: GuestWay, self: SessionActorParts['self']): SessionActorParts {
    const { time } = host;
    const tools: TurnsOptions['tools'] = {
      call: async ({ schema, idempotencyKey = '', mayBegin, scope, signal }) => {
        // The way to the request: secrets, addresses, a connection.
        await sleep(time, this.#random.between(1, this.#random.chance(0.3) ? 1_500 : 40));
        signal.throwIfAborted();
        if (mayBegin?.() === false) throw new Error('withdrawn');
        const [executionId = ''] = idempotencyKey.split(':');
        this.#effect(host, scope.tenantId, executionId, idempotencyKey, schema.name === 'look');
        await sleep(time, this.#random.between(20, 500));
        return { status: 200, text: `${schema.name} ok`, isError: false, truncated: false, missing: [] };
      },
    };
    const turns = createTurns(
      { time, log: { report: this.#report, note: () => undefined } },
      {
        models: {
          vendorsOf: () => Promise.resolve(() => true),
          prepare: (order) => {
            const start = () =>
              simulatedCall(order, {
                vendor: this.vendor,
                ledger: this.#ledgerAt(host),
                target,
                time,
                process: host.name,
                asked: ({ attemptId }) =>
                  this.#effect(host, order.scope.tenantId, order.executionId ?? '', attemptId, true),
                isUnrecorded: this.#plants.has('bill_cut'),
              });
            return Object.assign(start, { allowedModels: null });
          },
        },
        catalogue: access.catalogue,
        tools,
        runnableAgent: () => simulatedAgent,
        agentVersion: () => Promise.resolve(simulatedAgent.snapshot),
        contextStrict: false,
        fit: { of: () => Promise.reject(new Error('no schema is checked here')) },
        refusalOf: toPlatformError,
      },
    );
    const run: SessionActorParts['turns']['run'] = (start, ports) => {
      const recorded = start.recorded.filter(({ kind, state }) => kind !== 'tool' || state !== 'started');
      return turns.run(
        this.#plants.has('unknown_repeated') ? { ...start, recorded } : start,
        this.#plants.has('no_last_look')
          ? { ...ports, mayAct: () => true, signal: new AbortController().signal }
          : ports,
      );
    };
    return {
      turns: { run, summarise: () => Promise.resolve(undefined) },
      agents: {
        runnableAgent: () => simulatedAgent,
        agentVersion: () => Promise.resolve(simulatedAgent.snapshot),
      },
      tenantAtWork: (tenantId) => ({ scope: tenantScope(tenantId), limits, suspended: false }),
      isDenied: () => false,
      factsOf: () => Promise.resolve([]),
      nameOf: () => Promise.resolve(undefined),
      seal: (text) => text,
      unseal: (text) => text,
      otherParticipant: () => Promise.resolve(undefined),
      olderMessages: () => Promise.resolve([]),
      attachmentContents: () => Promise.resolve(new Map()),
      self,
      armExpiry: () => undefined,
      atWork: new TurnsAtWork(),
      onTurnBegun: () => undefined,
      onTurnEnded: () => undefined,
      time,
      newId: () => this.#random.id(),
      report: this.#report,
    };
  }

  #ledgerAt(host: SimulatedHost): Ledger {
    const ledger = this.#ledgers.get(host);
    if (ledger === undefined) throw new Error('the process has a ledger');
    return ledger;
  }

  #effect(
    host: SimulatedHost,
    tenantId: string,
    executionId: string,
    step: string,
    mayRepeat: boolean,
  ): void {
    const row = this.tables.rows.executions.get(keyOf(tenantId, executionId));
    const sessionId = row?.session_id ?? '';
    const actor = [...this.#epochs.keys()]
      .find((key) => key.startsWith(`${host.name}\n`) && key.endsWith(`\0${sessionId}`))
      ?.slice(host.name.length + 1);
    if (actor === undefined) {
      this.#world.violations.push(
        `${step} was made by ${host.name}, which holds no activation of its session`,
      );
      return;
    }
    const epoch = this.#epochs.get(`${host.name}\n${actor}`) ?? 0;
    const process = host.name;
    this.#world.steps.effects(this.#world.effects, host)({ actor, process, epoch });
    this.effects.happened({ actor, epoch, process, executionId, step, mayRepeat });
  }

  #storeOf({ host, faults }: GuestWay): Rows {
    const client = this.store.client(faults, host.time);
    const rows: Rows = {
      activate: async (request) => {
        const activated = await client.activate(request);
        if (activated.outcome === 'activated')
          this.#epochs.set(`${host.name}\n${addressText(request.address)}`, activated.fence.epoch);
        return activated;
      },
      write: async (batch) => {
        if (this.#plants.has('accepted_early') && batch.every(({ write }) => isAcceptance(write))) {
          client.write(batch).catch(() => (this.reports += 1));
          return batch.map(() => ({ outcome: 'written', result: { finishedBefore: new Set<string>() } }));
        }
        const isLocked = ({ fence }: (typeof batch)[number]): boolean => this.locked.has(fence.address.key);
        if (!batch.some(isLocked)) return client.write(batch);
        await sleep(host.time, lockMs);
        const free = batch.filter((one) => !isLocked(one));
        const written = free.length === 0 ? [] : await client.write(free);
        const outcomes = new Map(free.map((one, place) => [one, written[place]]));
        return batch.map((one): WriteOutcome<SessionWritten> => outcomes.get(one) ?? rowLocked);
      },
      combine: combinedWrite,
    };
    return tracedFences(rows, processId(host.name), this.#world.steps.of(host));
  }
}

function isAcceptance(write: SessionWrite | undefined): boolean {
  return write?.executions?.every(({ status }) => status === 'queued') === true && !write.messages?.length;
}
