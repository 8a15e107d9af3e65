import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { ChangeFeed } from '../../infra/storage/index.js';
import { accessTokenSeconds, createAccessTokens } from './access-tokens.js';
import type { EndAccess } from './account-taking.js';
import { type Accounts, createAccounts } from './accounts.js';
import { topics } from './changes.js';
import { memberOperations } from './member-operations.js';
import { createMembers } from './members.js';
import { createMemberships, type Memberships } from './memberships.js';
import { identityOperations } from './operations.js';
import { createNewTenants } from './new-tenants.js';
import { createOutsideIssuer, type OutsideIssuerSettings } from './outside-issuer.js';
import { createOutsideSignIn } from './outside-sign-in.js';
import { createPasswords, type PasswordSettings } from './passwords.js';
import { repeat } from './repeat.js';
import type { SecretRandom } from './secrets.js';
import { createSignInLimits } from './sign-in-limits.js';
import { createSigningKeys, type SigningKeys } from './signing-keys.js';
import { tenantOperations } from './tenant-operations.js';
import { createTenants, type Tenants } from './tenants.js';
import { createTokenFamilies } from './token-families.js';
import { createVerifiedTokens, type VerifiedTokens } from './verified-tokens.js';

export type { Accounts } from './accounts.js';
export { examineIssuer } from './outside-issuer.js';
/** The change topics for subjects that react to the end of sign-ins and to changes of memberships and plans. */
export { topics as identityTopics } from './changes.js';
export { displayName, emailAddress, emailKeyOf, givenPassword, newPassword } from './fields.js';
export { signedInShape, type SignedIn } from './shapes.js';
export type { UserRow } from './users.store.js';
export { findMemberBy, isMemberAddress, isStillSignedIn, namesOf } from './members.store.js';
export type { EndAccess } from './account-taking.js';
export type { PlanChange } from './tenants.js';
export { findPlan, type PlanOfTenant } from './tenants.store.js';
export type { Membership, TenantAtWork } from './memberships.js';
export { defaultPasswordSettings, type PasswordSettings } from './passwords.js';
export { hashOfToken, newToken, type SecretRandom } from './secrets.js';
export type { VerifiedUser } from './verified-tokens.js';

export type IdentityPlatform = Pick<Platform, 'store' | 'changes' | 'time' | 'ids' | 'random' | 'log'>;

export interface IdentityOptions {
  readonly sealer: Sealer;
  readonly outsideIssuer?: OutsideIssuerSettings | undefined;
  readonly passwords?: PasswordSettings | undefined;
  /** The number of tenants that one address may make per day; a default applies. */
  readonly newTenantsPerAddress?: number | undefined;
  /** How other subjects end what a tenant's former members hold, when an account is taken over. */
  readonly endAccess: EndAccess;
}

export interface Identity {
  readonly operations: readonly Operation[];
  /** The user of a bearer token; without a promise if it is in memory. */
  readonly verifyToken: VerifiedTokens['verify'];
  /** The user's membership of a tenant; without a promise if it is in memory. */
  readonly membershipOf: Memberships['of'];
  /** The tenant's data for work that no caller requested. */
  readonly tenantAtWork: Memberships['tenantAtWork'];
  /** For invites, which also sign users in, and for commands. */
  readonly accounts: Accounts;
  /** For commands; callers use the operations. */
  readonly tenants: Pick<Tenants, 'listAll' | 'createEmpty' | 'setPlan'>;
  /** Makes a new signing key, which takes over after ten minutes. Returns its id. */
  rotateSigningKey(): Promise<string>;
  /** Seals the signing keys again with the current master key. Call it only when every node has that key. */
  resealSigningKeys(): Promise<void>;
  close(): Promise<void>;
}

const sweepEveryMs = 10 * 60_000;

export async function createIdentity(
  platform: IdentityPlatform,
  options: IdentityOptions,
): Promise<Identity> {
  const { store, changes, time, ids, log } = platform;
  const { sealer, outsideIssuer } = options;
  const random: SecretRandom = {
    uuid: () => ids.uuid(),
    bytes: (count) => platform.random.bytes(count),
  };
  const onProblem = (error: unknown): void => log.report('maintaining identities', error);
  const nowMs = (): number => time.wallMs();
  const isFresh = (): boolean => changes.isFresh();

  const keys = createSigningKeys({
    store,
    changes,
    sealer,
    nowMs,
    tokenLifetimeMs: accessTokenSeconds * 1_000,
  });
  const tokens = createAccessTokens(keys, random, nowMs);
  const families = createTokenFamilies({ store, tokens, random, nowMs, changes });
  const limits = createSignInLimits(store, nowMs);
  const newTenants = createNewTenants(store, nowMs, options.newTenantsPerAddress);
  const passwords = createPasswords(options.passwords);
  const accounts = createAccounts({ store, changes, passwords, limits, families, newTenants, random, nowMs });
  const tenants = createTenants({ store, changes, random, newTenants });
  const members = createMembers({ store, changes });
  const memberships = createMemberships(store, isFresh);
  const verified = createVerifiedTokens({
    store,
    tokens,
    outsideIssuer: outsideIssuer && createOutsideIssuer(outsideIssuer, time),
    signInOutside: createOutsideSignIn({ store, changes, endAccess: options.endAccess, nowMs }),
    nowMs,
    isFresh,
  });

  const subscriptions = subscribe(changes, { verified, memberships, keys, onProblem });
  const unsubscribe = (): void => {
    for (const end of subscriptions) end();
  };
  await keys.open().catch((error: unknown) => {
    unsubscribe();
    throw error;
  });
  const sweeper = repeat(
    time,
    sweepEveryMs,
    async () => {
      await families.sweep();
      await limits.sweep();
      await newTenants.sweep();
    },
    onProblem,
  );

  return {
    operations: [
      ...identityOperations({ accounts, families, keys }),
      ...tenantOperations(tenants),
      ...memberOperations(members),
    ],
    verifyToken: verified.verify,
    membershipOf: memberships.of,
    tenantAtWork: memberships.tenantAtWork,
    accounts,
    tenants,
    rotateSigningKey: keys.rotate,
    resealSigningKeys: keys.reseal,
    async close() {
      unsubscribe();
      await sweeper.stop();
    },
  };
}

/** Drops cached values when the feed reports a change. */
function subscribe(
  changes: ChangeFeed,
  parts: {
    readonly verified: VerifiedTokens;
    readonly memberships: Memberships;
    readonly keys: SigningKeys;
    readonly onProblem: (error: unknown) => void;
  },
): readonly (() => void)[] {
  const { verified, memberships, keys, onProblem } = parts;
  // If the reload fails, the key is loaded when a token names it.
  const reloadKeys = (): void => void keys.reload().catch(onProblem);
  return [
    changes.subscribe(topics.family, {
      onChange: ({ subject }) => verified.dropFamily(subject),
      onDropEverything: verified.dropAll,
    }),
    changes.subscribe(topics.user, {
      onChange: ({ subject }) => verified.dropUser(subject),
      onDropEverything: verified.dropAll,
    }),
    changes.subscribe(topics.membership, {
      onChange: ({ tenantId, subject }) => memberships.dropMember(subject, tenantId ?? ''),
      onDropEverything: memberships.dropAll,
    }),
    changes.subscribe(topics.tenant, {
      onChange: ({ subject }) => memberships.dropTenant(subject),
      onDropEverything: memberships.dropAll,
    }),
    changes.subscribe(topics.signingKey, { onChange: reloadKeys, onDropEverything: reloadKeys }),
  ];
}
