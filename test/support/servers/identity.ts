import { randomBytes, randomUUID } from 'node:crypto';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { logTo } from '../builders/platform.js';
import { systemRandom, systemTime, type Time } from '../../../cluster/index.js';
import { createAuthenticator } from '../../../src/http/authentication/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';
import {
  createIdentity,
  type IdentityOptions,
  type SecretRandom,
} from '../../../src/tenancy/identity/index.js';
import type { Operation } from '../../../src/http/operations/index.js';
import { createSealer, type Sealer } from '../../../src/infra/sealing/index.js';
import { type ChangeFeed, openChangeFeed, openStore, type Store } from '../../../src/infra/storage/index.js';
import { createMail } from '../../../src/infra/mail/index.js';
import { cancelAllInvites, hasPendingInvite } from '../../../src/tenancy/invites/index.js';
import { revokeAllKeys, revokeKeysOf, roleNow } from '../../../src/tenancy/keys/index.js';
import { type Api, apiAt } from '../clients/api.js';
import { startEdge } from './edge.js';

export const operatorToken = 'operator-token-of-the-tests-of-identity';
export const masterKey = Buffer.alloc(32, 7);
export const secretRandom: SecretRandom = { uuid: () => randomUUID(), bytes: (count) => randomBytes(count) };

export const publicUrl = 'https://troupe.example.com';

/** Too cheap for anything but tests, where hundreds of passwords are hashed. */
const cheapPasswords = { memoryCostKiB: 64, timeCost: 1, concurrencyMax: 2, waitingMax: 64 };

export interface NodeParts {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly sealer: Sealer;
  readonly time: Time;
  readonly problems: unknown[];
}

export type IdentityNode = NodeParts & {
  readonly identity: Awaited<ReturnType<typeof createIdentity>>;
  readonly api: Api;
  readonly url: string;
  close(): Promise<void>;
};

/** One node: real store, real feed, real HTTP server; only admission is left open. */
export async function startIdentityNode(
  databaseUrl: string,
  options: Partial<IdentityOptions> & {
    readonly time?: Time;
    /** Where the feed of changes connects to, when that is not the database itself. */
    readonly feedUrl?: string;
    /** Where mails are written to; absent: they stay in the queue. */
    readonly mailFolder?: string;
    readonly more?: (
      parts: NodeParts & Pick<IdentityNode, 'identity'>,
    ) => Promise<{ readonly operations: readonly Operation[]; close(): Promise<void> }>;
  } = {},
): Promise<IdentityNode> {
  const problems: unknown[] = [];
  const onProblem = (error: unknown): void => void problems.push(error);
  const time = options.time ?? systemTime;
  const store = await openStore({ databaseUrl });
  const changes = await openChangeFeed({
    databaseUrl: options.feedUrl ?? databaseUrl,
    time: systemTime,
    random: systemRandom,
    onProblem,
  });
  const sealer = options.sealer ?? createSealer({ masterKey, random: systemPlatform.random });
  const platform = {
    ...systemPlatform,
    store,
    changes,
    time,
    log: logTo((_, error) => onProblem(error)),
  };
  // Only queues; a node with a folder sends.
  const mail = createMail(platform, {
    sealer,
    outboxFolder: options.mailFolder ?? '',
    publicUrl: () => publicUrl,
  });
  if (options.mailFolder !== undefined) mail.start();
  const identity = await createIdentity(platform, {
    sealer,
    passwords: cheapPasswords,
    endAccess: { revokeKeys: revokeAllKeys, revokeKeysOf, cancelInvites: cancelAllInvites },
    roleNow,
    mail,
    publicUrl: () => publicUrl,
    registration: { policy: 'open', hasInvite: hasPendingInvite },
    verifyEmail: false,
    ...options,
  }).catch(async (error: unknown) => {
    await changes.close();
    await store.close();
    throw error;
  });
  const parts = { store, changes, sealer, time, problems, identity };
  const more = await options.more?.(parts);
  const edge = await startEdge([...identity.operations, ...(more?.operations ?? [])], {
    authenticator: createAuthenticator({
      verifyToken: identity.verifyToken,
      membershipOf: identity.membershipOf,
      authenticateKey: () => {
        throw new PlatformError('invalid_api_key');
      },
      authenticateKeyToken: () => {
        throw new PlatformError('invalid_api_key');
      },
      authenticateVisitor: () => {
        throw new PlatformError('invalid_api_key');
      },
      operatorToken,
    }),
  });
  return {
    ...parts,
    api: apiAt(edge.url),
    url: edge.url,
    async close() {
      await edge.close();
      await more?.close();
      await identity.close();
      await mail.close();
      await changes.close();
      await store.close();
    },
  };
}

/** The machine's clocks plus offsets that the test sets: `aheadMs` of the wall clock alone, `passedMs` of both. */
export type ShiftedTime = Time & { aheadMs: number; passedMs: number };

export function shiftedTime(): ShiftedTime {
  return {
    ...systemTime,
    aheadMs: 0,
    passedMs: 0,
    wallMs() {
      return systemTime.wallMs() + this.aheadMs + this.passedMs;
    },
    monotonicMs() {
      return systemTime.monotonicMs() + this.passedMs;
    },
  };
}
