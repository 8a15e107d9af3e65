import { recordAudit } from '../audit/index.js';
import type { Role, UserCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { addressProved, auditAccount } from './account-audit.js';
import { announceMemberships, announceUser, settled } from './changes.js';
import { insertMembership } from './memberships.store.js';
import type { NewTenants } from './new-tenants.js';
import type { Passwords } from './passwords.js';
import type { RegistrationRule } from './registration.js';
import { hashOfToken, type SecretRandom } from './secrets.js';
import { localPartOf, ownTenantFrom, type SignedIn, userFrom } from './shapes.js';
import type { SignInLimits, SignInTry } from './sign-in-limits.js';
import { insertTenant, tenantsOfUser } from './tenants.store.js';
import type { StartedFamily, TokenFamilies } from './token-families.js';
import { endFamiliesOfUser, familyIsLive, findFamilyOf } from './token-families.store.js';
import {
  findUser,
  findUserByEmail,
  holdUser,
  insertUser,
  markDisabled,
  markEnabled,
  markEmailVerified,
  type UserRow,
} from './users.store.js';
import type { Verification } from './verification.js';

/** Accounts: registration and sign-in by password. */
export interface Accounts {
  /** `address`: the client's IP address, which the limit of new tenants counts. */
  register(account: NewAccount, address: string): Promise<SignedIn>;
  /** The same for the operator, who vouches for the address and need not keep to `TROUPE_REGISTRATION`. */
  registerByOperator(account: NewAccount): Promise<SignedIn>;
  /** `refreshToken`: the last one of a client that has signed in before; strangers' failures do not delay it. */
  signIn(email: string, password: string, address: string, refreshToken?: string): Promise<SignedIn>;
  /** Throws `registration_closed` if this address may not have an account. */
  checkRegistration(email: string): Promise<void>;
  /** The user with this email address and password. Every mismatch is `invalid_credentials`. */
  userByPassword(email: string, password: string, address: string): Promise<UserRow>;
  /** The signed-in user, if the password is theirs; otherwise `invalid_credentials`. */
  userBySignIn(caller: UserCaller, password: string): Promise<UserRow>;
  findByEmail(email: string): Promise<UserRow | null>;
  /** Hashes the password before the transaction that makes the account. */
  prepare(account: Omit<NewAccount, 'tenantName'>): Promise<PreparedAccount>;
  /**
   * Part of another transaction. Null if the email address has an account already. `provedAt` is set if the request
   * proved that its sender reads the mail of the address.
   */
  insert(tx: DirectoryTransaction, account: PreparedAccount, provedAt: Date | null): Promise<UserRow | null>;
  /**
   * Part of another transaction: locks the account and checks it again. `invalid_credentials` if the earlier check no
   * longer holds: the password was removed, the sign-in has ended, or the user is disabled.
   */
  confirm(tx: DirectoryTransaction, shown: ShownAccount): Promise<UserRow>;
  /** Part of another transaction: records that the owner of the account reads the mail of its address. */
  proveAddress(tx: DirectoryTransaction, user: UserRow): Promise<UserRow>;
  /** Part of another transaction. False if the user is already a member of the tenant. */
  join(
    tx: DirectoryTransaction,
    membership: { readonly tenantId: string; readonly userId: string; readonly role: Role },
  ): Promise<boolean>;
  overview(userId: string): Promise<Pick<SignedIn['data'], 'user' | 'tenants'>>;
  /** Part of another transaction that signs a user in; the reply is built after its commit. */
  /** For a person whom the external issuer named. */
  signInAs(userId: string, address: string): Promise<SignedIn>;
  admit(tx: DirectoryTransaction, user: UserRow): Promise<Admitted>;
  answerFor(entry: Admitted): Promise<SignedIn>;
  /**
   * Tells all nodes that a user joined a tenant and has proved the address. Must be the last statement of a transaction;
   * then call `settled`.
   */
  announceJoined(tx: DirectoryTransaction, userId: string): Promise<number | undefined>;
  /** After the commit: waits until this node has applied the change. */
  settled(change: number | undefined): Promise<void>;
  /** Locks a user out on every node. False if the user does not exist. */
  disable(userId: string, actor: string): Promise<boolean>;
  /** Lets a disabled user sign in again. False if the user does not exist. */
  enable(userId: string, actor: string): Promise<boolean>;
}

export interface NewAccount {
  readonly email: string;
  readonly password: string;
  readonly name?: string | undefined;
  readonly tenantName?: string | undefined;
}

export interface PreparedAccount {
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
}

/** An account whose ownership the request proved, by its password or by an access token. */
export type ShownAccount =
  | { readonly by: 'password'; readonly user: UserRow }
  | { readonly by: 'token'; readonly userId: string; readonly familyId: string | undefined };

export interface Admitted {
  readonly user: UserRow;
  readonly tenants: SignedIn['data']['tenants'];
  readonly family: StartedFamily;
}

export function createAccounts(dependencies: {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly passwords: Passwords;
  readonly limits: SignInLimits;
  readonly families: TokenFamilies;
  readonly newTenants: NewTenants;
  readonly random: SecretRandom;
  readonly nowMs: () => number;
  readonly registration: RegistrationRule;
  /** Undefined: registrations send no verification mail. */
  readonly verification: Pick<Verification, 'sendFirst' | 'wake'> | undefined;
}): Accounts {
  const { store, changes, passwords, limits, families, newTenants, random, nowMs } = dependencies;
  const { registration, verification } = dependencies;

  async function admit(tx: DirectoryTransaction, user: UserRow): Promise<Admitted> {
    const tenants = await tenantsOfUser(tx, user.id);
    return { user, tenants: tenants.map(ownTenantFrom), family: await families.start(tx, user.id) };
  }

  async function answerFor({ user, tenants, family }: Admitted): Promise<SignedIn> {
    return { success: true, data: { user: userFrom(user), tenants, ...(await families.pairOf(family)) } };
  }

  async function checkPassword(user: UserRow | null, password: string, tried: SignInTry): Promise<UserRow> {
    const matches = await passwords.verify(user?.password_hash, password, () => limits.check(tried));
    if (user !== null && matches && !user.disabled) return user;
    await limits.recordFailure(tried);
    throw new PlatformError('invalid_credentials');
  }

  const userByPassword: Accounts['userByPassword'] = async (email, password, address) =>
    checkPassword(await findByEmail(email), password, { email, address, client: undefined });

  async function userByKnownClient(email: string, password: string, address: string, refreshToken: string) {
    const { user, client } = await store.directory(async (tx) => ({
      user: await findUserByEmail(tx, email),
      client: await findFamilyOf(tx, hashOfToken(refreshToken), email),
    }));
    return checkPassword(user, password, { email, address, client });
  }

  async function userBySignIn({ userId, familyId, address }: UserCaller, password: string): Promise<UserRow> {
    const user = await store.directory((tx) => findUser(tx, userId));
    if (user === null) throw new PlatformError('invalid_token');
    return checkPassword(user, password, { email: user.email, address, client: familyId ?? userId });
  }

  async function checkRegistration(email: string): Promise<void> {
    const { policy, hasInvite } = registration;
    if (policy === 'open') return;
    const now = new Date(nowMs());
    if (policy === 'invite' && (await store.directory((tx) => hasInvite(tx, email, now)))) return;
    throw new PlatformError('registration_closed', {
      message:
        policy === 'invite'
          ? 'This installation accepts registrations only of addresses with a pending invitation.'
          : 'This installation does not accept registrations.',
    });
  }

  async function make(account: NewAccount, by: { readonly address: string } | 'operator'): Promise<SignedIn> {
    // Only saves the cost of a hash; the insert decides whether the address is free.
    if ((await findByEmail(account.email)) !== null) throw addressTaken();
    const prepared = await prepare(account);
    const entry = await store.directory(async (tx) => {
      const user = await insert(tx, prepared, by === 'operator' ? new Date(nowMs()) : null);
      if (user === null) throw addressTaken();
      if (by !== 'operator') await newTenants.countForAddress(tx, by.address);
      const tenant = await insertTenant(tx, {
        id: random.uuid(),
        name: account.tenantName ?? `${prepared.name}'s team`,
        plan: 'free',
        madeBy: user.id,
      });
      await insertMembership(tx, { tenantId: tenant.id, userId: user.id, role: 'owner' });
      if (by !== 'operator') await verification?.sendFirst(tx, user);
      await recordAudit(tx, {
        tenantId: tenant.id,
        actor: by === 'operator' ? 'operator' : `user:${user.id}`,
        action: 'user.registered',
        subject: `user:${user.id}`,
      });
      return admit(tx, user);
    });
    verification?.wake();
    return answerFor(entry);
  }

  const findByEmail = (email: string): Promise<UserRow | null> =>
    store.directory((tx) => findUserByEmail(tx, email));

  async function prepare({ email, password, name }: NewAccount): Promise<PreparedAccount> {
    return { email, name: name ?? localPartOf(email), passwordHash: await passwords.hash(password) };
  }

  const insert: Accounts['insert'] = (tx, account, provedAt) =>
    insertUser(tx, { id: random.uuid(), ...account, emailVerifiedAt: provedAt });

  async function confirm(tx: DirectoryTransaction, shown: ShownAccount): Promise<UserRow> {
    const user = await holdUser(tx, shown.by === 'password' ? shown.user.id : shown.userId);
    if (user === null || user.disabled) throw new PlatformError('invalid_credentials');
    const holds =
      shown.by === 'password'
        ? user.password_hash === shown.user.password_hash
        : shown.familyId === undefined ||
          (await familyIsLive(tx, shown.familyId, user.id, new Date(nowMs())));
    if (!holds) throw new PlatformError('invalid_credentials');
    return user;
  }

  return {
    async register(account, address) {
      await checkRegistration(account.email);
      return make(account, { address });
    },

    registerByOperator: (account) => make(account, 'operator'),

    async signIn(email, password, address, refreshToken) {
      const shown =
        refreshToken === undefined
          ? await userByPassword(email, password, address)
          : await userByKnownClient(email, password, address, refreshToken);
      const entry = await store.directory(async (tx) => {
        const user = await confirm(tx, { by: 'password', user: shown });
        await recordAudit(tx, {
          tenantId: null,
          actor: `user:${user.id}`,
          action: 'user.signed-in',
          subject: `user:${user.id}`,
          details: { address },
        });
        return admit(tx, user);
      });
      return answerFor(entry);
    },

    async signInAs(userId, address) {
      const entry = await store.directory(async (tx) => {
        const user = await findUser(tx, userId);
        if (user === null || user.disabled) throw new PlatformError('invalid_token');
        await recordAudit(tx, {
          tenantId: null,
          actor: `user:${user.id}`,
          action: 'user.signed-in',
          subject: `user:${user.id}`,
          details: { address },
        });
        return admit(tx, user);
      });
      return answerFor(entry);
    },

    userByPassword,
    userBySignIn,
    checkRegistration,

    async overview(userId) {
      const { user, tenants } = await store.directory(async (tx) => ({
        user: await findUser(tx, userId),
        tenants: await tenantsOfUser(tx, userId),
      }));
      if (user === null) throw new PlatformError('invalid_token');
      return { user: userFrom(user), tenants: tenants.map(ownTenantFrom) };
    },

    findByEmail,
    prepare,
    insert,
    confirm,

    async proveAddress(tx, user) {
      if (user.email_verified) return user;
      await markEmailVerified(tx, user.id, new Date(nowMs()));
      await auditAccount(tx, user.id, { action: 'user.address-proved', changes: addressProved });
      return { ...user, email_verified: true };
    },

    join: insertMembership,
    admit,
    answerFor,
    announceJoined: announceMemberships,
    settled: (change) => settled(changes, change),

    async disable(userId, actor) {
      const change = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        if (!(await markDisabled(tx, userId, now))) return undefined;
        await endFamiliesOfUser(tx, userId, 'disabled', now);
        await auditAccount(tx, userId, { actor, action: 'user.disabled' });
        return announceUser(tx, userId);
      });
      await settled(changes, change);
      return change !== undefined;
    },

    async enable(userId, actor) {
      const change = await store.directory(async (tx) => {
        if (!(await markEnabled(tx, userId))) return undefined;
        await auditAccount(tx, userId, { actor, action: 'user.enabled' });
        return announceUser(tx, userId);
      });
      await settled(changes, change);
      return change !== undefined;
    },
  };
}

function addressTaken(): PlatformError {
  return new PlatformError('conflict', {
    message: 'This address has an account already. Sign in, or register another address.',
  });
}
