/** Every limit and timing of the runtime on one page: default, unit, reason. Relations are checked at start. */
interface Setting {
  readonly value: number;
  readonly unit: 'ms' | 'bytes' | 'count' | 'fraction';
  readonly reason: string;
}

function setting(value: number, unit: Setting['unit'], reason: string): Setting {
  return { value, unit, reason };
}

const settings = {
  leaseMs: setting(
    5_000,
    'ms',
    'how long a silent process keeps its slots; with the margin the wait of a successor',
  ),
  leaseRenewMs: setting(1_000, 'ms', 'three renewals may be lost before acting ends'),
  leaseMarginMs: setting(500, 'ms', 'covers the difference in speed of two clocks over one lease'),
  leaseAdmitMs: setting(2_500, 'ms', 'half a lease: new work begun later could outlive it'),
  leaseActMs: setting(
    3_500,
    'ms',
    'no outside effect or outgoing frame later than this after the last renewal',
  ),
  memberStoreTimeoutMs: setting(800, 'ms', 'one command of the member store; less than a renewal period'),
  memberStoreAwayMs: setting(
    2_000,
    'ms',
    'without a renewal for so long a process may confirm peers; above two periods of looking, so that a look tells who cannot have',
  ),
  memberStoreStartMs: setting(
    8_000,
    'ms',
    'a node that cannot reach the member store for so long at start gives up',
  ),
  confirmRetryMs: setting(250, 'ms', 'peers notice at different moments that the store is away'),
  seizeSilenceMs: setting(
    2_750,
    'ms',
    'most workers silent so long, to the store and to probes, may be taken for dead; sooner would end those that a short cut hid',
  ),
  seizedReadMs: setting(
    30_000,
    'ms',
    'a number that was seized and never used is found, and the view gets a higher one',
  ),
  voiceMs: setting(3_000, 'ms', 'two refusals further apart may have two reasons'),
  viewRankDelayMs: setting(200, 'ms', 'the first in order makes the view, the next only when it did not'),
  exitsToldMax: setting(16, 'count', 'peers told of an exit that was seen; the others find out by silence'),
  earlyRemovalSilenceMs: setting(1_500, 'ms', 'a refusing process that missed a renewal as well is dead'),
  watchdogMs: setting(3_000, 'ms', 'no tick of the main loop for so long ends the process; below leaseActMs'),
  viewCoalesceMinMs: setting(300, 'ms', 'several members that come or go together make one view'),
  viewCoalesceMaxMs: setting(1_000, 'ms', 'but no change waits longer than this'),
  viewPollMs: setting(500, 'ms', 'a lost notice of a new view costs no more than this'),
  recoveryStandMs: setting(
    3_000,
    'ms',
    'a view must have stood so long before recovery begins: a cold start has many',
  ),
  recoverySweepMs: setting(30_000, 'ms', 'the slow look for rows that both earlier looks missed'),
  recoveryBatch: setting(200, 'count', "rows taken in one look; bounds memory and the store's work"),
  recoveryConcurrency: setting(8, 'count', 'take-ups at a time on one node; repeats run one at a time'),
  recoveryAttempts: setting(3, 'count', 'work that ended its process so often is given up'),
  recoveryRetryMs: setting(1_000, 'ms', 'pause before the second attempt; doubles'),
  recoveryRetryMaxMs: setting(60_000, 'ms', 'longest pause between attempts'),
  statementTimeoutMs: setting(10_000, 'ms', 'longest statement of the store; the second look waits it out'),
  timerHorizonMs: setting(300_000, 'ms', 'timers due later stay in the store only'),
  probeTimeoutMs: setting(500, 'ms', 'a peer on one network answers in a few ms'),
  connectTimeoutMs: setting(2_000, 'ms', 'one attempt to reach a peer'),
  reconnectBaseMs: setting(50, 'ms', 'a restarted listener is found quickly'),
  reconnectMaxMs: setting(2_000, 'ms', 'a dead peer costs little until the view drops it'),
  linkIdlePingMs: setting(1_000, 'ms', 'a silent link is asked whether it lives'),
  linkSilenceMs: setting(3_000, 'ms', 'three pings unanswered: the peer is gone and its calls fail'),
  chunkBytes: setting(16_384, 'bytes', 'one gRPC data frame; longer ones would hold up their neighbours'),
  batchBytes: setting(262_144, 'bytes', 'cap of one batch of frames'),
  batchFramesMax: setting(8_192, 'count', 'frames of one batch; a peer that sends more breaks the rules'),
  linkMessageBytes: setting(
    327_680,
    'bytes',
    'one gRPC message: a batch and what a last frame adds; a stranger can make a node hold so much for each stream',
  ),
  greetingBytes: setting(
    4_096,
    'bytes',
    'one message of a peer that has not proved itself: names and a proof',
  ),
  greetingMs: setting(
    5_000,
    'ms',
    'a connection that has not proved itself by then is closed; above connectTimeoutMs, after which its dialer gave up',
  ),
  strangersMax: setting(
    256,
    'count',
    'connections that have not proved themselves yet: a cluster of 100 nodes that restarts at once stays below',
  ),
  connectionStreamsMax: setting(1, 'count', 'streams of one connection: a peer opens one on each'),
  linksPerPeer: setting(4, 'count', 'links that one peer holds open; a peer has one, and a few that it lost'),
  linkCallsMax: setting(65_536, 'count', 'calls that run for one peer; more are told that the node is full'),
  linkMethodsMax: setting(4_096, 'count', 'methods that a peer may name on one link'),
  linkAssemblyBytes: setting(
    134_217_728,
    'bytes',
    'bodies of one link that are not whole yet; four full queues of a sender',
  ),
  messageBytesMax: setting(4_194_304, 'bytes', 'one message; larger things belong in the store'),
  callCreditBytes: setting(262_144, 'bytes', 'in flight to one slow reader before its producer waits'),
  linkQueueBytes: setting(33_554_432, 'bytes', 'waiting for one peer before calls to it are refused'),
  callDeadlineMs: setting(30_000, 'ms', 'of a call that names none'),
  callDeadlineMaxMs: setting(3_600_000, 'ms', 'longest that a caller may name'),
  hopsMax: setting(3, 'count', 'how often a call may be told "moved"'),
  movedRetryMs: setting(50, 'ms', 'pause when no newer view came with "moved"'),
  storeRetryMs: setting(
    3_000,
    'ms',
    'a call waits so long for a durable store that is away, as in a short failover; then its caller hears of it',
  ),
  mailboxCountMax: setting(1_000, 'count', 'waiting calls of one actor'),
  mailboxBytesMax: setting(8_388_608, 'bytes', 'waiting bytes of one actor'),
  controlCountMax: setting(100, 'count', 'waiting control calls of one actor'),
  nodeQueueMax: setting(100_000, 'count', 'waiting calls of one node, all actors together'),
  overloadRetryMs: setting(250, 'ms', 'told to a caller that met a full queue'),
  idleMs: setting(120_000, 'ms', 'an actor that nobody called for so long is forgotten'),
  residentsMax: setting(200_000, 'count', 'actors in memory; beyond it the least recently used go'),
  activationsMax: setting(64, 'count', 'loads at a time: taking over many actors must not flood the store'),
  activationQueueMax: setting(20_000, 'count', 'loads waiting behind them'),
  answerMemoryMs: setting(
    60_000,
    'ms',
    'how long an answer can be repeated from memory; the row is the lasting one',
  ),
  answerMemoryMax: setting(64, 'count', 'answers remembered by one actor'),
  writeBatchMax: setting(200, 'count', 'rows of one group commit: more gains nothing'),
  writeBatchesInFlight: setting(2, 'count', 'one is built while the other commits'),
  writeRetryMs: setting(100, 'ms', 'pause before a write of unknown outcome is asked for again'),
  busyStampMs: setting(600_000, 'ms', 'longest turn that names no end of its own'),
  drainMs: setting(25_000, 'ms', 'a stop finishes running turns within the 30 s that supervisors give'),
} as const satisfies Record<string, Setting>;

export type ClusterConfig = { readonly [Name in keyof typeof settings]: number };

/** For documentation and diagnostics: name, default, unit and reason of each setting. */
export const clusterSettings: Readonly<Record<keyof ClusterConfig, Setting>> = settings;

export class ClusterConfigError extends Error {
  override readonly name = 'ClusterConfigError';
}

/** Defaults with what the caller changes; throws when a relation that safety rests on does not hold. */
export function clusterConfig(changes: Partial<ClusterConfig> = {}): ClusterConfig {
  const config: Record<string, number> = {};
  for (const [name, { value }] of Object.entries<Setting>(settings)) config[name] = value;
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in settings)) throw new ClusterConfigError(`there is no setting ${name}`);
    if (!Number.isFinite(value) || value <= 0)
      throw new ClusterConfigError(`${name} must be above 0, not ${value}`);
    config[name] = value;
  }
  if (!isComplete(config)) throw new ClusterConfigError('a setting is missing');
  for (const [holds, rule] of relations(config)) {
    if (!holds) throw new ClusterConfigError(`settings disagree: ${rule}`);
  }
  return Object.freeze(config);
}

function isComplete(config: Readonly<Record<string, number>>): config is ClusterConfig {
  return Object.keys(settings).every((name) => name in config);
}

function relations(config: ClusterConfig): readonly (readonly [boolean, string])[] {
  return [
    [config.leaseAdmitMs <= config.leaseActMs, 'leaseAdmitMs <= leaseActMs'],
    [config.leaseActMs < config.leaseMs, 'leaseActMs < leaseMs: effects must end before a successor starts'],
    [
      config.leaseRenewMs + config.memberStoreTimeoutMs < config.leaseAdmitMs,
      'leaseRenewMs + memberStoreTimeoutMs < leaseAdmitMs: one lost renewal must not stop admission',
    ],
    [
      config.leaseRenewMs + config.viewPollMs < config.memberStoreAwayMs,
      'leaseRenewMs + viewPollMs < memberStoreAwayMs: a living member must look free at each look',
    ],
    [
      config.memberStoreAwayMs + config.confirmRetryMs < config.leaseActMs,
      'memberStoreAwayMs + confirmRetryMs < leaseActMs: peers must be able to confirm in time',
    ],
    [config.leaseRenewMs < config.earlyRemovalSilenceMs, 'leaseRenewMs < earlyRemovalSilenceMs'],
    [
      config.memberStoreAwayMs + config.probeTimeoutMs < config.seizeSilenceMs,
      'memberStoreAwayMs + probeTimeoutMs < seizeSilenceMs: a living process must have had time to answer',
    ],
    [config.watchdogMs < config.leaseActMs, 'watchdogMs < leaseActMs: the watchdog must act first'],
    [config.viewCoalesceMinMs <= config.viewCoalesceMaxMs, 'viewCoalesceMinMs <= viewCoalesceMaxMs'],
    [config.linkIdlePingMs < config.linkSilenceMs, 'linkIdlePingMs < linkSilenceMs'],
    [config.chunkBytes <= config.batchBytes, 'chunkBytes <= batchBytes'],
    [
      config.chunkBytes <= config.callCreditBytes,
      'chunkBytes <= callCreditBytes: a chunk must fit the credit',
    ],
    [
      config.batchBytes + config.chunkBytes < config.linkMessageBytes,
      'batchBytes + chunkBytes < linkMessageBytes: a batch must fit one message',
    ],
    [config.greetingBytes <= config.linkMessageBytes, 'greetingBytes <= linkMessageBytes'],
    [
      config.messageBytesMax < config.linkAssemblyBytes,
      'messageBytesMax < linkAssemblyBytes: one long body must fit',
    ],
    [config.messageBytesMax <= config.linkQueueBytes, 'messageBytesMax <= linkQueueBytes'],
    [config.callDeadlineMs <= config.callDeadlineMaxMs, 'callDeadlineMs <= callDeadlineMaxMs'],
    [config.reconnectBaseMs <= config.reconnectMaxMs, 'reconnectBaseMs <= reconnectMaxMs'],
    [config.recoveryRetryMs <= config.recoveryRetryMaxMs, 'recoveryRetryMs <= recoveryRetryMaxMs'],
  ];
}
