import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemRandom, systemTime, type Time } from '../cluster/index.js';
import { createAgents } from './agents/index.js';
import { createAuthenticator } from './authentication/index.js';
import { createCalls, type AccessSettings, vendorAccess } from './calls/index.js';
import { type Settings, version } from './config/index.js';
import type { Caller } from './context/caller.js';
import {
  diagnosticsOperations,
  type Log,
  Metrics,
  type ReadinessCheck,
  RecentErrors,
} from './diagnostics/index.js';
import { createDocuments } from './documents/index.js';
import { createRequestReporter, EdgeServer, type StreamGround } from './edge/index.js';
import { createEgress } from './egress/index.js';
import { createExpressions } from './expressions/index.js';
import { createIdentity, identityTopics } from './identity/index.js';
import { createInvites } from './invites/index.js';
import { createKeys } from './keys/index.js';
import { parseModels, readCompatibleVendors } from './llm/index.js';
import { createMail } from './mail/index.js';
import { PlatformError } from './errors.js';
import { OperationTable } from './operations/index.js';
import { createQuota } from './quota/index.js';
import { createSealer } from './sealing/index.js';
import { type Bootstrap, seedDemo } from './seed/index.js';
import {
  type Change,
  type ChangeFeed,
  migrate,
  openBatchWriters,
  openChangeFeed,
  openHotReads,
  openStore,
  StoreError,
} from './storage/index.js';
import { Ledger } from './usage/index.js';
import { createVault } from './vault/index.js';

export interface NodeParts {
  readonly settings: Settings;
  readonly nodeId: string;
  readonly log: Log;
  /** The machine's clock when left out. */
  readonly time?: Time;
}

export interface RunningNode {
  readonly baseUrl: string;
  readonly table: OperationTable;
  /** Where the installation began with a demo tenant. */
  readonly bootstrap: Bootstrap | undefined;
  /** Lets running requests finish until the signal aborts, writes what waits, closes everything. */
  stop(signal: AbortSignal): Promise<void>;
}

type Close = (signal: AbortSignal) => Promise<void> | void;
type AtEnd = (close: Close) => void;

/**
 * The composition: every part is made here and handed what it needs. Parts are closed in the reverse order of their
 * making, also when a later one could not be made.
 */
export async function startNode(parts: NodeParts): Promise<RunningNode> {
  const closing: Close[] = [];
  const stop = async (signal: AbortSignal): Promise<void> => {
    for (const close of closing.splice(0).toReversed()) {
      try {
        await close(signal);
      } catch (error) {
        parts.log.logger.error({ error }, 'a part did not close cleanly');
      }
    }
  };
  try {
    return { ...(await compose(parts, (close) => closing.push(close))), stop };
  } catch (error) {
    await stop(AbortSignal.timeout(1_000));
    throw error;
  }
}

async function compose(parts: NodeParts, atEnd: AtEnd): Promise<Omit<RunningNode, 'stop'>> {
  const { settings, time = systemTime } = parts;
  const dataDir = resolve(settings.dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  let baseUrl = '';
  const ground: Ground = {
    settings,
    time,
    dataDir,
    publicUrl: () => baseUrl,
    report: (attempted, error) => parts.log.logger.error({ error }, attempted),
    atEnd,
  };
  const stores = await openStores(ground);
  const subjects = await makeSubjects(ground, stores);
  const { edge, table } = makeDoor(parts.log, ground, stores, subjects);
  const port = await edge.listen();
  baseUrl = settings.publicUrl ?? `http://${hostInAddress(settings.httpHost)}:${port}`;
  // Only now is it known where the product is reached, which mails say.
  subjects.mail.start();
  subjects.ledger.start();
  const bootstrap =
    settings.seed === 'demo'
      ? await seedDemo({
          table,
          dataDir,
          baseUrl,
          tenantUrl: settings.tenantUrl ?? baseUrl,
          callerOf: async (userId, tenantId): Promise<Caller> => ({
            kind: 'tenant-user',
            userId,
            familyId: undefined,
            expiresAtMs: Number.POSITIVE_INFINITY,
            address: '127.0.0.1',
            ...(await subjects.identity.membershipOf(userId, tenantId)),
          }),
        })
      : undefined;
  return { baseUrl, table, bootstrap };
}

/** What every part may need. */
interface Ground {
  readonly settings: Settings;
  readonly time: Time;
  readonly dataDir: string;
  /** Empty until the node listens. */
  readonly publicUrl: () => string;
  /** Hears of failures that no request waits for. */
  readonly report: (attempted: string, error: unknown) => void;
  readonly atEnd: AtEnd;
}

type Stores = Awaited<ReturnType<typeof openStores>>;
type Subjects = Awaited<ReturnType<typeof makeSubjects>>;

async function openStores({ settings, time, report, atEnd }: Ground) {
  const databaseUrl = settings.databaseUrl ?? '';
  await migrate({ databaseUrl, acceptNewer: true });
  const store = await openStore({ databaseUrl });
  atEnd(() => store.close());
  const reads = openHotReads({ databaseUrl });
  atEnd(() => reads.close());
  const writers = openBatchWriters({ databaseUrl, time, random: systemRandom });
  atEnd(() => writers.close());
  const feed = await openChangeFeed({
    databaseUrl,
    time,
    random: systemRandom,
    onProblem: (error) => report('reading what changed', error),
  });
  atEnd(() => feed.close());
  return { store, reads, writers, feed };
}

async function makeSubjects(ground: Ground, stores: Stores) {
  const { settings, time, report, atEnd, publicUrl } = ground;
  const { store, reads, writers, feed } = stores;
  const access = vendorAccess(await vendorSettings(settings));
  const masterKey = settings.masterKey ?? new Uint8Array();
  const sealer = createSealer({ masterKey, formerMasterKeys: settings.previousMasterKeys, randomBytes });
  const vault = createVault({
    store,
    masterKey,
    previousMasterKeys: settings.previousMasterKeys,
    providers: () => access.providers,
  });
  await vault.prepare();

  const random = { uuid: randomUUID, bytes: randomBytes };
  const identity = await createIdentity({
    store,
    changes: feed,
    sealer,
    time,
    random,
    outsideIssuer: outsideIssuerOf(settings),
    onProblem: (error) => report('keeping identities in order', error),
  });
  atEnd(() => identity.close());
  const mail = createMail({
    store,
    sealer,
    time,
    random: systemRandom,
    newId: randomUUID,
    smtpUrl: settings.smtpUrl,
    outboxFolder: join(ground.dataDir, 'outbox'),
    publicUrl,
    onProblem: (error) => report('sending mails', error),
  });
  atEnd(() => mail.close());
  const invites = createInvites({ store, accounts: identity.accounts, mail, time, random, publicUrl });

  const quota = createQuota({ store, time, dailyLimits: settings.dailyLimits, report });
  atEnd(() => quota.stop());
  const keys = createKeys({ store, reads, feed, time, random: systemRandom, report });
  atEnd(() => keys.stop());

  const ledger = new Ledger({ writers, store, time, report });
  atEnd(() => ledger.stop());
  const calls = createCalls({
    access,
    reads,
    vault,
    quota,
    ledger,
    time,
    random: systemRandom,
    newId: randomUUID,
    report,
  });
  atEnd(() => calls.close());

  const egress = createEgress({ allow: settings.egressAllow ?? [] });
  atEnd(() => egress.close());
  const expressions = createExpressions();
  atEnd(() => expressions.close());
  const agents = createAgents({ store, feed, vault, egress, expressions, time });
  atEnd(() => agents.stop());
  return { vault, identity, mail, invites, quota, keys, ledger, calls, agents };
}

function makeDoor(log: Log, ground: Ground, { store, feed }: Stores, subjects: Subjects) {
  const { settings, publicUrl, atEnd } = ground;
  const { identity, invites, keys, quota, vault, agents, calls } = subjects;
  let stopping = false;
  const recentErrors = new RecentErrors();
  const metrics = new Metrics({
    runningRequests: () => edge.runningRequests,
    lagMs: () => edge.overload.lagMs,
  });
  const checks: readonly ReadinessCheck[] = [
    { name: 'database', check: () => store.directory(async () => undefined) },
    {
      name: 'changes',
      check: async () => {
        if (!feed.isFresh()) throw new Error('this node cannot read what changed');
      },
    },
  ];
  const documents = createDocuments({ version, url: publicUrl });
  const table = new OperationTable([
    ...identity.operations,
    ...invites.operations,
    ...keys.operations,
    ...quota.operations,
    ...vault.operations,
    ...agents.operations,
    ...calls.operations,
    ...diagnosticsOperations({ checks, stopping: () => stopping, metrics, recentErrors }),
    ...documents.operations,
  ]);
  documents.describe(table);
  const edge = new EdgeServer(
    {
      host: settings.httpHost,
      port: settings.httpPort,
      trustedProxies: settings.trustedProxies,
      corsOrigins: settings.corsOrigins,
    },
    {
      table,
      authenticator: createAuthenticator({
        verifyToken: identity.verifyToken,
        membershipOf: identity.membershipOf,
        authenticateKey: keys.authenticateKey,
        operatorToken: settings.operatorToken,
      }),
      admission: quota.admission,
      report: createRequestReporter({ log, metrics, recentErrors }),
      refusalOf,
      wallMs: () => ground.time.wallMs(),
    },
  );
  endStreamsWithCredentials(edge, subjects, feed, atEnd);
  // Made last and closed first: running requests finish while everything below still works.
  atEnd((signal) => {
    stopping = true;
    return edge.close(signal);
  });
  return { edge, table };
}

/** A stream ends with what it was opened with: a revoked or expired key, a signed-out user, a member who left. */
function endStreamsWithCredentials(
  edge: EdgeServer,
  { keys }: Subjects,
  feed: ChangeFeed,
  atEnd: AtEnd,
): void {
  const cutAll = (): void => edge.streams.cutAll();
  const on = (topic: string, ground: (change: Change) => StreamGround): (() => void) =>
    feed.subscribe(topic, {
      onChange: (change) => edge.streams.cut(ground(change)),
      onDropEverything: cutAll,
    });
  const ends = [
    keys.onRevoked(({ keyId }) => edge.streams.cut({ key: keyId })),
    on(identityTopics.family, ({ subject }) => ({ family: subject })),
    on(identityTopics.user, ({ subject }) => ({ user: subject })),
    on(identityTopics.membership, ({ subject, tenantId }) => ({ member: subject, tenant: tenantId ?? '' })),
  ];
  atEnd(() => {
    for (const end of ends) end();
  });
}

/** What a failure of the store means for whoever asked; undefined for what nobody foresaw. */
function refusalOf(error: unknown): PlatformError | undefined {
  if (!(error instanceof StoreError)) return undefined;
  if (error.retryable)
    return new PlatformError('service_unavailable', { retryAfterSeconds: 1, cause: error });
  if (error.failure === 'invalid-value') return new PlatformError('validation_error', { cause: error });
  return undefined;
}

async function vendorSettings(settings: Settings): Promise<AccessSettings> {
  const { modelsFile, compatibleVendors } = settings;
  return {
    vendors: {
      openai: { apiKey: settings.openaiKey, baseUrl: settings.openaiBaseUrl },
      anthropic: { apiKey: settings.anthropicKey, baseUrl: settings.anthropicBaseUrl },
      google: { apiKey: settings.geminiKey, baseUrl: settings.geminiBaseUrl },
      xai: { apiKey: settings.xaiKey, baseUrl: settings.xaiBaseUrl },
      openrouter: { apiKey: settings.openrouterKey, baseUrl: settings.openrouterBaseUrl },
    },
    compatible: compatibleVendors === undefined ? [] : readCompatibleVendors(compatibleVendors),
    models: modelsFile === undefined ? [] : await modelsOf(modelsFile),
    sim: settings.sim ?? settings.seed === 'demo',
  };
}

async function modelsOf(path: string): Promise<AccessSettings['models']> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`TROUPE_MODELS_FILE names ${path}, which cannot be read`, { cause });
  }
  return parseModels(`TROUPE_MODELS_FILE (${path})`, text);
}

function outsideIssuerOf({ oidcIssuer, oidcAudience }: Settings) {
  return oidcIssuer === undefined || oidcAudience === undefined
    ? undefined
    : { issuer: oidcIssuer, audience: oidcAudience };
}

/** What a local caller writes for the address that the server listens on. */
function hostInAddress(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
