/** Every limit and timing of the runtime: default, unit, reason. `clusterConfig` checks how they relate. */
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
    'how long a silent process keeps its slots; a successor waits this long plus the margin',
  ),
  leaseRenewMs: setting(1_000, 'ms', 'three renewals may be lost before the process must stop acting'),
  leaseMarginMs: setting(500, 'ms', 'covers the drift between two clocks over one lease'),
  leaseAdmitMs: setting(2_500, 'ms', 'half a lease: work admitted later could outlive the lease'),
  leaseActMs: setting(
    3_500,
    'ms',
    'no outside effect and no outgoing frame later than this after the last renewal',
  ),
  memberStoreTimeoutMs: setting(
    800,
    'ms',
    'time-out of one member store command; less than a renewal period',
  ),
  memberStoreAwayMs: setting(
    2_000,
    'ms',
    'without a confirmed renewal for this long a process may confirm peers; longer than a renewal plus a poll, so that a poll shows which processes cannot have confirmed',
  ),
  memberStoreStartMs: setting(8_000, 'ms', 'at start, how long a node tries to reach the member store'),
  confirmRetryMs: setting(
    250,
    'ms',
    'pause between requests for confirmation; peers notice a store outage at different times',
  ),
  seizeSilenceMs: setting(
    2_750,
    'ms',
    'most workers may be declared dead after this silence, in the store and to probes; a shorter time would end workers behind a brief network cut',
  ),
  seizedReadMs: setting(
    30_000,
    'ms',
    'how often to read the seized number: finds one that was never used, so that the view gets a higher one',
  ),
  voteMs: setting(
    3_000,
    'ms',
    'how long a removal vote counts; refusals further apart may have different causes',
  ),
  viewRankDelayMs: setting(
    200,
    'ms',
    'the first worker in order makes the view; each next one waits this much longer',
  ),
  probesMax: setting(64, 'count', 'probes of one peer that wait for their answers; normally a few'),
  exitNoticesMax: setting(16, 'count', 'peers notified of an observed exit; the others detect it by silence'),
  earlyRemovalSilenceMs: setting(
    1_500,
    'ms',
    'a process that refuses connections and also missed a renewal is dead',
  ),
  watchdogMs: setting(3_000, 'ms', 'a main loop blocked for this long ends the process; below leaseActMs'),
  viewCoalesceMinMs: setting(300, 'ms', 'members that join or leave within this time share one view'),
  viewCoalesceMaxMs: setting(1_000, 'ms', 'longest wait of a membership change'),
  viewPollMs: setting(500, 'ms', 'how often to poll the view; the longest delay after a lost notification'),
  hintedReadsMax: setting(
    2_000,
    'count',
    'reads of the members per second that hints may cause in a large cluster: a hundred processes that join hint each member a hundred times',
  ),
  recoveryStableViewMs: setting(
    3_000,
    'ms',
    'how long a view must be unchanged before recovery starts: a cold start has many views',
  ),
  recoverySweepMs: setting(30_000, 'ms', 'period of the sweep for rows that both earlier scans missed'),
  recoveryBatch: setting(200, 'count', 'rows of one scan; bounds memory and the load on the store'),
  recoveryConcurrency: setting(8, 'count', 'concurrent take-ups of one node; repeats run one at a time'),
  recoveryAttempts: setting(3, 'count', 'work that was taken up this often without finishing is given up'),
  recoveryRetryMs: setting(1_000, 'ms', 'pause before the second attempt; doubles with each further attempt'),
  recoveryRetryMaxMs: setting(60_000, 'ms', 'longest pause between attempts'),
  statementTimeoutMs: setting(
    10_000,
    'ms',
    'longest statement of the store; the second recovery scan waits it out',
  ),
  timerConcurrency: setting(
    16,
    'count',
    'timers of one node that fire at once: after an outage many are due, and each is a transaction',
  ),
  timerHorizonMs: setting(300_000, 'ms', 'how far ahead timers are loaded into memory'),
  timersMax: setting(
    10_000,
    'count',
    'timers in memory, the next ones; later ones are read when half have fired',
  ),
  probeTimeoutMs: setting(500, 'ms', 'time-out of a probe; a peer on the same network answers in a few ms'),
  connectTimeoutMs: setting(2_000, 'ms', 'time-out of one attempt to connect to a peer'),
  reconnectBaseMs: setting(50, 'ms', 'first pause before reconnecting: finds a restarted listener quickly'),
  reconnectMaxMs: setting(
    2_000,
    'ms',
    'longest pause before reconnecting: a dead peer costs little until it leaves the view',
  ),
  linkIdlePingMs: setting(1_000, 'ms', 'a link idle for this long is pinged'),
  linkSilenceMs: setting(3_000, 'ms', 'three unanswered pings: the link is lost and its calls fail'),
  chunkBytes: setting(16_384, 'bytes', 'one gRPC data frame; longer frames would delay other messages'),
  batchBytes: setting(262_144, 'bytes', 'largest batch of frames'),
  batchFramesMax: setting(
    8_192,
    'count',
    'frames of one batch; a peer that sends more violates the protocol',
  ),
  linkMessageBytes: setting(
    327_680,
    'bytes',
    'one gRPC message: a batch plus one last frame; an unproven peer can make a node hold this much per stream',
  ),
  greetingBytes: setting(
    4_096,
    'bytes',
    'one message of a peer that has not proved itself: names and a proof',
  ),
  greetingMs: setting(
    5_000,
    'ms',
    'a connection that has not proved itself within this time is closed; above connectTimeoutMs, at which its dialer gives up',
  ),
  strangersMax: setting(
    256,
    'count',
    'connections that have not proved themselves yet; the neighbours that dial a restarted node stay below this',
  ),
  connectionStreamsMax: setting(1, 'count', 'streams of one connection: a peer opens one per connection'),
  neighboursMax: setting(
    64,
    'count',
    'members that a process keeps a link to and probes when they are silent; with all of a large cluster, links and pings would grow with the square of its size',
  ),
  linkUnusedMs: setting(
    60_000,
    'ms',
    'a link to a member that is no neighbour is closed after this time without a call',
  ),
  linksPerPeer: setting(4, 'count', 'open links of one peer: it uses one, plus a few that it has lost'),
  linkCallsMax: setting(65_536, 'count', 'running calls of one peer; further calls are refused as overload'),
  linkMethodsMax: setting(4_096, 'count', 'methods that a peer may name on one link'),
  linkAssemblyBytes: setting(
    134_217_728,
    'bytes',
    'incomplete bodies of one link; four full queues of a sender',
  ),
  messageBytesMax: setting(4_194_304, 'bytes', 'largest message; larger data belongs in the store'),
  callCreditBytes: setting(262_144, 'bytes', 'bytes in flight to a slow reader before its producer waits'),
  linkQueueBytes: setting(33_554_432, 'bytes', 'bytes queued for one peer before calls to it are refused'),
  linkAnswerBytes: setting(
    67_108_864,
    'bytes',
    'bytes of answers queued for one peer before answers fail; a peer that reads none of twice as many loses its link',
  ),
  callDeadlineMs: setting(30_000, 'ms', 'default deadline of a call'),
  callDeadlineMaxMs: setting(3_600_000, 'ms', 'longest deadline that a caller may set'),
  hopsMax: setting(3, 'count', 'how many "moved" answers a call may receive'),
  movedRetryMs: setting(50, 'ms', 'pause before a retry after a "moved" answer'),
  storeRetryMs: setting(
    3_000,
    'ms',
    'how long a call is retried while the durable store is unreachable, enough for a short failover; then it fails',
  ),
  mailboxCountMax: setting(1_000, 'count', 'waiting calls of one actor'),
  mailboxBytesMax: setting(8_388_608, 'bytes', 'waiting bytes of one actor'),
  controlCountMax: setting(
    100,
    'count',
    'control calls of one actor that wait for its load, and as many that run; streams do not count',
  ),
  streamCountMax: setting(
    90,
    'count',
    'streams in the control lane of one actor, waiting and running alike: they stay open for minutes, and must keep no control call out',
  ),
  nodeQueueMax: setting(
    100_000,
    'count',
    'waiting calls of one node, over all actors; also those without an owner',
  ),
  nodeQueueBytes: setting(268_435_456, 'bytes', 'waiting bytes of one node, over all actors'),
  overloadRetryMs: setting(250, 'ms', 'retry pause suggested to a caller that a full queue refused'),
  idleMs: setting(120_000, 'ms', 'an actor without calls for this long leaves memory'),
  residentsMax: setting(
    200_000,
    'count',
    'actors in memory; beyond this the least recently used idle actor is evicted',
  ),
  residentBytesMax: setting(
    268_435_456,
    'bytes',
    'what the actors in memory hold by their own account; beyond this the least recently used idle ones are evicted',
  ),
  activationsMax: setting(64, 'count', 'concurrent loads: taking over many actors must not flood the store'),
  activationQueueMax: setting(20_000, 'count', 'loads that may wait'),
  answerMemoryMs: setting(
    60_000,
    'ms',
    'how long a repeat is answered from memory; the durable answer is the row',
  ),
  answerMemoryMax: setting(64, 'count', 'answers remembered by one actor'),
  repeatsMax: setting(64, 'count', 'repeats that wait for the answer of one running call'),
  writeQueueMax: setting(2_000, 'count', 'unfinished writes of one actor; twice its running turns'),
  writeBatchMax: setting(200, 'count', 'writes of one group commit: more gains nothing'),
  writeBatchBytesMax: setting(
    8_388_608,
    'bytes',
    'writes of one group commit; a single larger one is sent alone. PostgreSQL takes 256 MiB as one JSON list',
  ),
  writeBatchesInFlight: setting(2, 'count', 'one is built while the other commits'),
  writeRetryMs: setting(100, 'ms', 'pause before a write of unknown outcome is submitted again'),
  busyStampMs: setting(600_000, 'ms', 'longest turn that sets no deadline of its own'),
  drainMs: setting(25_000, 'ms', 'how long a stop waits for running turns; supervisors commonly allow 30 s'),
} as const satisfies Record<string, Setting>;

export type ClusterConfig = { readonly [Name in keyof typeof settings]: number };

/** For documentation and diagnostics: default, unit and reason of each setting by name. */
export const clusterSettings: Readonly<Record<keyof ClusterConfig, Setting>> = settings;

export class ClusterConfigError extends Error {
  override readonly name = 'ClusterConfigError';
}

/** The defaults with the given changes. Throws if two settings violate a relation that safety depends on. */
export function clusterConfig(changes: Partial<ClusterConfig> = {}): ClusterConfig {
  const config: Record<string, number> = {};
  for (const [name, { value }] of Object.entries<Setting>(settings)) config[name] = value;
  for (const [name, value] of Object.entries(changes)) {
    if (!(name in settings)) throw new ClusterConfigError(`unknown cluster setting: ${name}`);
    if (!Number.isFinite(value) || value <= 0)
      throw new ClusterConfigError(
        `cluster setting ${name} must be a finite number above 0, but is ${value}`,
      );
    config[name] = value;
  }
  if (!isComplete(config)) throw new ClusterConfigError('a cluster setting is missing');
  for (const [holds, rule] of relations(config)) {
    if (!holds) throw new ClusterConfigError(`cluster settings conflict; this must hold: ${rule}`);
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
      'leaseRenewMs + viewPollMs < memberStoreAwayMs: each poll must show a live member as free',
    ],
    [
      config.memberStoreAwayMs + config.confirmRetryMs < config.leaseActMs,
      'memberStoreAwayMs + confirmRetryMs < leaseActMs: peers must be able to confirm in time',
    ],
    [config.leaseRenewMs < config.earlyRemovalSilenceMs, 'leaseRenewMs < earlyRemovalSilenceMs'],
    [
      config.memberStoreAwayMs + config.probeTimeoutMs < config.seizeSilenceMs,
      'memberStoreAwayMs + probeTimeoutMs < seizeSilenceMs: a live process must have time to answer',
    ],
    [config.watchdogMs < config.leaseActMs, 'watchdogMs < leaseActMs: the watchdog must act first'],
    [config.viewCoalesceMinMs <= config.viewCoalesceMaxMs, 'viewCoalesceMinMs <= viewCoalesceMaxMs'],
    [config.linkIdlePingMs < config.linkSilenceMs, 'linkIdlePingMs < linkSilenceMs'],
    [config.chunkBytes <= config.batchBytes, 'chunkBytes <= batchBytes'],
    [
      config.chunkBytes <= config.callCreditBytes,
      'chunkBytes <= callCreditBytes: a chunk must fit into the credit',
    ],
    [
      config.batchBytes + config.chunkBytes < config.linkMessageBytes,
      'batchBytes + chunkBytes < linkMessageBytes: a batch must fit one message',
    ],
    [
      config.neighboursMax < config.strangersMax,
      'neighboursMax < strangersMax: all that keep a link to a restarted node dial it at once',
    ],
    [config.greetingBytes <= config.linkMessageBytes, 'greetingBytes <= linkMessageBytes'],
    [
      config.messageBytesMax < config.linkAssemblyBytes,
      'messageBytesMax < linkAssemblyBytes: one long body must fit',
    ],
    [config.messageBytesMax <= config.linkQueueBytes, 'messageBytesMax <= linkQueueBytes'],
    [config.messageBytesMax <= config.linkAnswerBytes, 'messageBytesMax <= linkAnswerBytes'],
    [config.callDeadlineMs <= config.callDeadlineMaxMs, 'callDeadlineMs <= callDeadlineMaxMs'],
    [config.reconnectBaseMs <= config.reconnectMaxMs, 'reconnectBaseMs <= reconnectMaxMs'],
    [config.recoveryRetryMs <= config.recoveryRetryMaxMs, 'recoveryRetryMs <= recoveryRetryMaxMs'],
  ];
}
