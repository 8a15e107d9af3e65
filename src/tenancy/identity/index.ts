import type { Mail } from '../../infra/mail/index.js';
import type { Operation } from '../../http/operations/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { ChangeFeed } from '../../infra/storage/index.js';
import { accessTokenSeconds, createAccessTokens } from './access-tokens.js';
import type { EndAccess } from './account-taking.js';
import { createAccountChanges } from './account-changes.js';
import { accountOperations } from './account-operations.js';
import { type Accounts, createAccounts } from './accounts.js';
import { browserSessionOperations } from './browser-session-operations.js';
import { topics } from './changes.js';
import { createKeySignIn } from './key-sign-in.js';
import { memberOperations } from './member-operations.js';
import { createMembers } from './members.js';
import { createMemberships, type Memberships } from './memberships.js';
import { identityOperations } from './operations.js';
import { createNewTenants } from './new-tenants.js';
import { createOutsideCode, type OutsideClientSettings } from './outside-code.js';
import { createOutsideIssuer, type OutsideIssuerSettings } from './outside-issuer.js';
import { createOutsideSignIn } from './outside-sign-in.js';
import { createPasswordReset } from './password-reset.js';
import { createPasswords, type PasswordSettings } from './passwords.js';
import type { RegistrationRule } from './registration.js';
import { repeat } from './repeat.js';
import type { SecretRandom } from './secrets.js';
import { createSignInLimits } from './sign-in-limits.js';
import { createSigningKeys, type SigningKeys } from './signing-keys.js';
import { createSuspension, type Suspension } from './suspension.js';
import { tenantOperations } from './tenant-operations.js';
import type { RoleNow } from './standing.js';
import { createTenants, type Tenants } from './tenants.js';
import { createTokenFamilies } from './token-families.js';
import { createVerification } from './verification.js';
import { createInvitationMails, type InvitationMails } from './invitation-mails.js';
import { createVerifiedOwners, type VerifiedOwners } from './verified-owners.js';
import { createVerifiedTokens, type VerifiedTokens } from './verified-tokens.js';

export type { Accounts, NewAccount } from './accounts.js';
export { examineIssuer } from './outside-issuer.js';
/** The change topics for subjects that react to the end of sign-ins and to changes of memberships and plans. */
export { settled, topics as identityTopics } from './changes.js';
export { displayName, emailAddress, emailKeyOf, givenPassword, newPassword } from './fields.js';
export { nameOf, namesOfMembers, namesOfUsers, signedInShape, type SignedIn } from './shapes.js';
export { deletedUserName, type UserRow } from './users.store.js';
export { findMemberBy, isMemberAddress, namesInDirectory, namesOf, ownerMails } from './members.store.js';
export { accountPage } from './account-page.js';
export { pageLink } from './account-mails.js';
export type { RegistrationRule } from './registration.js';
export type { VerifiedOwners } from './verified-owners.js';
export type { EndAccess } from './account-taking.js';
export { holdTenant, roleOfUser, type RoleNow } from './standing.js';
export {
  type AccountOverview,
  findOverview,
  listAccounts,
  listOverviews,
  namesOfTenants,
  type TenantFilter,
  type TenantOverview,
  tenantStatuses,
} from './installation.store.js';
export { announceEnd, claimRemoval, endTenant, removeEndedTenant } from './deletion.js';
export type { ClaimedSweep, PlanChange } from './tenants.js';
export { findPlan, type PlanOfTenant } from './tenants.store.js';
export type { Membership, TenantAtWork } from './memberships.js';
export { defaultPasswordSettings, type PasswordSettings } from './passwords.js';
export { hashOfToken, newToken, type SecretRandom } from './secrets.js';
export type { VerifiedUser } from './verified-tokens.js';

export type IdentityPlatform = Pick<Platform, 'store' | 'changes' | 'time' | 'ids' | 'random' | 'log'>;

export interface IdentityOptions {
  readonly sealer: Sealer;
  readonly outsideIssuer?: OutsideIssuerSettings | undefined;
  /** By which people sign in to the console at the issuer. */
  readonly outsideClient?: OutsideClientSettings | undefined;
  readonly passwords?: PasswordSettings | undefined;
  /** The number of tenants that one address may make per day; a default applies. */
  readonly newTenantsPerAddress?: number | undefined;
  /** How other subjects end what a tenant's former members hold, when an account is taken over. */
  readonly endAccess: EndAccess;
  /** Looks again at the caller of a change of members, who may be a key. */
  readonly roleNow: RoleNow;
  /** For mails about accounts. */
  readonly mail: Pick<Mail, 'queue' | 'wake'>;
  /** The base address of links in mails; known once the node listens. */
  readonly publicUrl: () => string;
  readonly registration: RegistrationRule;
  /** `TROUPE_VERIFY_EMAIL`. */
  readonly verifyEmail: boolean;
  /** Whether a model of the name exists; absent: where no tenant changes its own names of models. */
  readonly isKnownModel?: (model: string) => boolean;
}

export interface Identity {
  readonly operations: readonly Operation[];
  /** The user of a bearer token; without a promise if it is in memory. */
  readonly verifyToken: VerifiedTokens['verify'];
  /** The user's membership of a tenant; without a promise if it is in memory. */
  readonly membershipOf: Memberships['of'];
  /** The tenant's data for work that no caller requested. */
  readonly tenantAtWork: Memberships['tenantAtWork'];
  /** Which tenants may cost the platform money and send mail in its name. */
  readonly verifiedOwners: Pick<VerifiedOwners, 'has' | 'require'>;
  /** The bound of the invitations to one address. */
  readonly invitationMails: Pick<InvitationMails, 'count'>;
  /** For invites, which also sign users in, and for commands. */
  readonly accounts: Accounts;
  /** For commands; callers use the operations. */
  readonly tenants: Pick<Tenants, 'listAll' | 'createEmpty' | 'createByOperator' | 'setPlan' | 'claimSweep'>;
  readonly suspension: Suspension;
  /** Makes a new signing key, which takes over after ten minutes. Returns its id. */
  rotateSigningKey(): Promise<string>;
  /** Seals the signing keys again with the current master key. Call it only when every node has that key. */
  resealSigningKeys(): Promise<void>;
  close(): Promise<void>;
}

const sweepEveryMs = 10 * 60_000;
const resetsEveryMs = 5_000;

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
    time,
    tokenLifetimeMs: accessTokenSeconds * 1_000,
  });
  const tokens = createAccessTokens(keys, random, nowMs);
  const families = createTokenFamilies({ store, tokens, random, nowMs, changes });
  const limits = createSignInLimits(store, nowMs);
  const newTenants = createNewTenants(store, nowMs, options.newTenantsPerAddress);
  const passwords = createPasswords(options.passwords);
  const { mail, publicUrl, registration, verifyEmail } = options;
  const verification = createVerification({ store, changes, mail, publicUrl, random, nowMs });
  const accounts = createAccounts({
    store,
    changes,
    passwords,
    limits,
    families,
    newTenants,
    random,
    nowMs,
    registration,
    verification: verifyEmail ? verification : undefined,
  });
  const passwordReset = createPasswordReset({
    store,
    changes,
    passwords,
    limits,
    mail,
    publicUrl,
    random,
    nowMs,
    onRequest: () => resets.now(),
  });
  const accountChanges = createAccountChanges({ store, changes, accounts, passwords, nowMs });
  const verifiedOwners = createVerifiedOwners({ store, isFresh, required: verifyEmail });
  const invitationMails = createInvitationMails({ store, nowMs, bounded: verifyEmail });
  const tenants = createTenants({ store, changes, random, newTenants });
  const members = createMembers({
    store,
    changes,
    endAccess: options.endAccess,
    roleNow: options.roleNow,
    nowMs,
  });
  const suspension = createSuspension({ store, changes, nowMs });
  const memberships = createMemberships(store, isFresh);
  const signInOutside = createOutsideSignIn({ store, changes, endAccess: options.endAccess, nowMs });
  const outsideCode =
    options.outsideClient &&
    createOutsideCode(options.outsideClient, { signIn: signInOutside, time, onProblem, publicUrl });
  const verified = createVerifiedTokens({
    store,
    tokens,
    outsideIssuer: outsideIssuer && createOutsideIssuer(outsideIssuer, { time, onProblem }),
    signInOutside,
    time,
    isFresh,
  });

  const subscriptions = subscribe(changes, { verified, memberships, verifiedOwners, keys, onProblem });
  const unsubscribe = (): void => {
    for (const end of subscriptions) end();
  };
  await keys.open().catch((error: unknown) => {
    unsubscribe();
    throw error;
  });
  /** Requests of this node are answered at once; the repetition finds those of nodes that ended. */
  const resets = repeat(time, resetsEveryMs, () => passwordReset.sendRequested(), onProblem);
  const sweeper = repeat(
    time,
    sweepEveryMs,
    async () => {
      await families.sweep();
      await limits.sweep();
      await newTenants.sweep();
      await invitationMails.sweep();
      await verification.sweep();
    },
    onProblem,
  );

  const keySignIn = createKeySignIn({ store, tokens });
  return {
    operations: [
      ...identityOperations({ accounts, families, keys }),
      ...browserSessionOperations({
        accounts,
        families,
        publicUrl,
        registration: registration.policy,
        verifyEmail,
        outsideCode,
      }),
      ...accountOperations({ verification, passwordReset, accountChanges, keySignIn }),
      ...tenantOperations(tenants, options.isKnownModel ?? (() => true)),
      ...memberOperations(members),
    ],
    verifyToken: verified.verify,
    membershipOf: memberships.of,
    tenantAtWork: memberships.tenantAtWork,
    verifiedOwners,
    invitationMails,
    accounts,
    tenants,
    suspension,
    rotateSigningKey: keys.rotate,
    resealSigningKeys: keys.reseal,
    async close() {
      unsubscribe();
      await sweeper.stop();
      await resets.stop();
    },
  };
}

/** Drops cached values when the feed reports a change. */
function subscribe(
  changes: ChangeFeed,
  parts: {
    readonly verified: VerifiedTokens;
    readonly memberships: Memberships;
    readonly verifiedOwners: VerifiedOwners;
    readonly keys: SigningKeys;
    readonly onProblem: (error: unknown) => void;
  },
): readonly (() => void)[] {
  const { verified, memberships, verifiedOwners, keys, onProblem } = parts;
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
      onChange: ({ tenantId, subject }) => {
        memberships.dropMember(subject, tenantId ?? '');
        verifiedOwners.dropTenant(tenantId ?? '');
      },
      onDropEverything: () => {
        memberships.dropAll();
        verifiedOwners.dropAll();
      },
    }),
    changes.subscribe(topics.tenant, {
      onChange: ({ subject }) => memberships.dropTenant(subject),
      onDropEverything: memberships.dropAll,
    }),
    changes.subscribe(topics.signingKey, { onChange: reloadKeys, onDropEverything: reloadKeys }),
  ];
}
