import {
  type ClusterConfig,
  clusterConfig,
  type ClusteredNode,
  type ClusterNode,
  DurableTimers,
  GroupCommit,
  type Kind,
  type MembershipEvent,
  openClusteredNode,
  openLoneNode,
  PostgresFenceStore,
  type ProcessId,
  Recovery,
  type RecoveryCounts,
  referencesTo,
  systemRandom,
  RenewableTls,
  systemTime,
  targetOf,
} from '../../../cluster/index.js';
import { type Settings, version } from '../../kernel/config/index.js';
import type { Logger } from '../diagnostics/index.js';
import type { Sealer } from '../sealing/index.js';
import { connectTimeoutOf, type Store, writerRole } from '../storage/index.js';
import { clusterIdentity } from './cluster-identity.js';
import type { Actors } from './contract.js';
import { drainNode } from './drain-node.js';
import { LateCaller } from './late-caller.js';
import { measuresText, type SourceReading } from './measures.js';
import { linkProtectionOf } from './link-protection.js';
import { logLinkTrouble, logMembershipEvent } from './membership-log.js';
import { pulseActor } from './pulse.actor.js';
import { ReadinessProbes } from './readiness-probes.js';
import { clusterNameOf } from './running-versions.js';
import { CertificateRenewal } from './certificate-renewal.js';
import { SourceFailures } from './source-failures.js';

export type ActorSettings = Pick<
  Settings,
  | 'databaseUrl'
  | 'redisUrl'
  | 'clusterSecret'
  | 'nodeRoles'
  | 'grpcHost'
  | 'grpcPort'
  | 'advertiseAddr'
  | 'grpcTlsCa'
  | 'grpcTlsCert'
  | 'grpcTlsKey'
  | 'grpcInsecure'
>;

export interface ActorsParts {
  readonly settings: ActorSettings;
  /** The id of this process, new at each start. */
  readonly process: ProcessId;
  readonly store: Store;
  readonly sealer: Sealer;
  readonly logger: Logger;
  /** Overrides the default timings of the runtime. */
  readonly cluster?: Partial<ClusterConfig>;
  /** Called when the operator drains this node: stop it, then end the process. Without it, the request is refused. */
  readonly onLeaveAsked?: (() => void) | undefined;
  /** Called when the lease is lost for good and every actor here has ended. Finish open requests, then end the process. */
  readonly onLost: () => void;
}

/** A service that starts when the node is open and stops before it leaves. */
interface Companion {
  start(node: ClusterNode): void;
  stop(): void;
}

const noCounts: RecoveryCounts = { looks: 0, takenUp: 0, givenUp: 0, failures: 0 };
/** Per kind of durable actor. Loads are rare compared to calls, and one batch commits while the next is built. */
const activationsMax = 4;
const batchesMax = 3;

/** The actors of this node: a single node without Redis, otherwise one of a cluster. */
export function createActors(parts: ActorsParts): Actors {
  const config = clusterConfig(parts.cluster);
  const { process } = parts;
  const late = new LateCaller();
  const kinds: Kind[] = [];
  const companions: Companion[] = [];
  const failures = new SourceFailures(parts.logger, systemTime);
  const readings: (() => SourceReading)[] = [];
  const closing: (() => Promise<void>)[] = [];
  const leaving: (() => Promise<void>)[] = [];
  let open: ClusteredNode | undefined;
  let stopped: Promise<void> | undefined;

  const register = (kind: Kind): void => {
    if (open !== undefined) throw new Error(`${kind.name} was registered after the start`);
    kinds.push(kind);
  };
  const accompany = (companion: Companion): void => {
    if (open !== undefined) throw new Error('recovery and timers must be registered before the start');
    companions.push(companion);
  };

  const reportUnended = (error: unknown): void =>
    parts.logger.error({ err: error }, 'work failed to end before the node left its cluster');

  async function stop(signal: AbortSignal | undefined): Promise<void> {
    for (const companion of companions) companion.stop();
    const { cutOff = 0, failure } = (await open?.stop(signal)) ?? {};
    late.caller = undefined;
    if (cutOff > 0) parts.logger.warn({ turns: cutOff }, 'turns did not end in time and were cut off');
    if (failure !== undefined) reportUnended(failure);
    for (const close of closing) await close();
  }

  const pulse = pulseActor();
  register(pulse);
  const beats = referencesTo(pulse, late);
  const pulses = new ReadinessProbes(pulse, beats, () => open?.node);

  return {
    process,
    register,
    references: (kind) => referencesTo(kind, late),
    slotOf: (kind, group, key) => targetOf(kind, group, key).slot,
    commits(tables) {
      const databaseUrl = parts.settings.databaseUrl ?? '';
      const fence = new PostgresFenceStore(tables, {
        databaseUrl,
        role: writerRole,
        statementTimeoutMs: config.statementTimeoutMs,
        connectTimeoutMs: connectTimeoutOf(databaseUrl, config.connectTimeoutMs),
        time: systemTime,
        activationsMax,
        batchesMax,
      });
      closing.push(() => fence.close());
      return new GroupCommit(fence, config, systemTime, systemRandom);
    },
    recover(name, source) {
      let recovery: Recovery<Parameters<typeof source.run>[0]> | undefined;
      readings.push(() => ({ source: name, recovery: recovery?.counts ?? noCounts }));
      accompany({
        start: (node) => {
          recovery = new Recovery(node, source, config, systemTime, systemRandom, failures.of(name));
          recovery.start();
        },
        stop: () => recovery?.stop(),
      });
      return {
        hint: () => recovery?.hint(),
        get counts() {
          return recovery?.counts ?? noCounts;
        },
      };
    },
    timers(name, source) {
      let timers: DurableTimers | undefined;
      readings.push(() => (timers === undefined ? { source: name } : { source: name, timers }));
      accompany({
        start: (node) => {
          timers = new DurableTimers(node, source, config, systemTime, failures.of(name));
          timers.start();
        },
        stop: () => timers?.stop(),
      });
      return {
        armed: (timer) => timers?.armed(timer),
        disarmed: (id) => timers?.disarmed(id),
        get waiting() {
          return timers?.waiting ?? 0;
        },
        get fired() {
          return timers?.fired ?? 0;
        },
        get failures() {
          return timers?.failures ?? 0;
        },
      };
    },
    surelyGone: (other) => open?.node.surelyGone(other) ?? false,
    members: () => open?.node.ring.view.members.map((member) => member.process) ?? [],
    mayAct: () => open?.node.mayAct() ?? false,
    beforeLeave: (end) => void leaving.push(end),
    owns: (slot) => open?.node.owns(slot) ?? false,
    ready: () => open?.node.ready ?? false,
    describe: () => open?.node.describe(),
    reports: () => pulses.reports(),
    drain: (other) => drainNode(open?.node, other),
    measures: () =>
      measuresText(
        open?.node.describe(),
        readings.map((read) => read()),
      ),
    readiness: { name: 'actors', check: () => pulses.beat() },
    async start() {
      const beforeLeave = async (): Promise<void> => {
        // One failure must not release the lease while other work still ends.
        const ends = await Promise.allSettled(leaving.map((end) => end()));
        for (const end of ends) {
          if (end.status === 'rejected') reportUnended(end.reason);
        }
      };
      open = await openNode(parts, { kinds, process, config, beforeLeave }, closing);
      late.caller = open.node.caller;
      for (const companion of companions) companion.start(open.node);
    },
    async beginLeave() {
      for (const companion of companions) companion.stop();
      await open?.node.beginLeave();
    },
    stop: (signal) => (stopped ??= stop(signal)),
  };
}

async function openNode(
  parts: ActorsParts,
  node: Pick<Parameters<typeof openClusteredNode>[0], 'kinds' | 'config' | 'beforeLeave'> & {
    readonly process: ProcessId;
  },
  closing: (() => Promise<void>)[],
): Promise<ClusteredNode> {
  const { settings, store, sealer, logger, onLost, onLeaveAsked } = parts;
  const { redisUrl, databaseUrl = '' } = settings;
  if (redisUrl === undefined) return openLoneNode({ ...node, version });
  const { tls: certificate, ...protection } = await linkProtectionOf(settings);
  const tls = certificate === undefined ? undefined : new RenewableTls(certificate);
  if (tls !== undefined) {
    const renewal = new CertificateRenewal({ settings, tls, time: systemTime, logger });
    renewal.start();
    closing.push(async () => renewal.stop());
  }
  const { name, secret } = await clusterIdentity({
    store,
    sealer,
    random: systemRandom,
    givenSecret: settings.clusterSecret,
  });
  return openClusteredNode({
    ...node,
    cluster: clusterNameOf({ name }),
    secret,
    redisUrl,
    databaseUrl,
    databaseRole: writerRole,
    roles: settings.nodeRoles,
    version,
    host: settings.grpcHost,
    port: settings.grpcPort,
    ...(settings.advertiseAddr === undefined ? {} : { advertise: settings.advertiseAddr }),
    ...protection,
    ...(tls === undefined ? {} : { tls }),
    report: (event: MembershipEvent) => logMembershipEvent(logger, event),
    onLinkTrouble: (trouble) => logLinkTrouble(logger, trouble),
    onFenced: onLost,
    ...(onLeaveAsked === undefined ? {} : { onLeaveAsked }),
  });
}
