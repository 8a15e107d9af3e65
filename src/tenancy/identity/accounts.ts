import { recordAudit } from '../audit/index.js';
import type { Role } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { ChangeFeed, DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { announceMembership, announceUser, settled } from './changes.js';
import { insertMembership } from './memberships.store.js';
import type { NewTenants } from './new-tenants.js';
import type { Passwords } from './passwords.js';
import type { SecretRandom } from './secrets.js';
import { localPartOf, ownTenantFrom, type SignedIn, userFrom } from './shapes.js';
import type { SignInLimits } from './sign-in-limits.js';
import { insertTenant, tenantsOfUser } from './tenants.store.js';
import type { StartedFamily, TokenFamilies } from './token-families.js';
import { endFamiliesOfUser, familyIsLive } from './token-families.store.js';
import {
  findUser,
  findUserByEmail,
  holdUser,
  insertUser,
  markDisabled,
  markEmailVerified,
  type UserRow,
} from './users.store.js';

/** Accounts: registration and sign-in by password. */
export interface Accounts {
  /** `address`: the client's IP address, which the limit of new tenants counts. */
  register(account: NewAccount, address: string): Promise<SignedIn>;
  signIn(email: string, password: string, address: string): Promise<SignedIn>;
  /** The user with this email address and password. Every mismatch is `invalid_credentials`. */
  userByPassword(email: string, password: string, address: string): Promise<UserRow>;
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
  admit(tx: DirectoryTransaction, user: UserRow): Promise<Admitted>;
  answerFor(entry: Admitted): Promise<SignedIn>;
  /** Tells all nodes that a user joined a tenant. Must be the last statement of a transaction; then call `settled`. */
  announceJoined(tx: DirectoryTransaction, tenantId: string, userId: string): Promise<number>;
  /** After the commit: waits until this node has applied the change. */
  settled(change: number): Promise<void>;
  /** Locks a user out on every node. False if the user does not exist. */
  disable(userId: string, actor: string): Promise<boolean>;
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
}): Accounts {
  const { store, changes, passwords, limits, families, newTenants, random, nowMs } = dependencies;

  async function admit(tx: DirectoryTransaction, user: UserRow): Promise<Admitted> {
    const tenants = await tenantsOfUser(tx, user.id);
    return { user, tenants: tenants.map(ownTenantFrom), family: await families.start(tx, user.id) };
  }

  async function answerFor({ user, tenants, family }: Admitted): Promise<SignedIn> {
    return { success: true, data: { user: userFrom(user), tenants, ...(await families.pairOf(family)) } };
  }

  async function userByPassword(email: string, password: string, address: string): Promise<UserRow> {
    const user = await findByEmail(email);
    const matches = await passwords.verify(user?.password_hash, password, () => limits.check(email, address));
    if (user !== null && matches && !user.disabled) return user;
    await limits.recordFailure(email, address);
    throw new PlatformError('invalid_credentials');
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
      // Only saves the cost of a hash; the insert decides whether the address is free.
      if ((await findByEmail(account.email)) !== null) throw addressTaken();
      const prepared = await prepare(account);
      const entry = await store.directory(async (tx) => {
        const user = await insert(tx, prepared, null);
        if (user === null) throw addressTaken();
        await newTenants.countForAddress(tx, address);
        const tenant = await insertTenant(tx, {
          id: random.uuid(),
          name: account.tenantName ?? `${prepared.name}'s team`,
          plan: 'free',
          madeBy: user.id,
        });
        await insertMembership(tx, { tenantId: tenant.id, userId: user.id, role: 'owner' });
        await recordAudit(tx, {
          tenantId: tenant.id,
          actor: `user:${user.id}`,
          action: 'user.registered',
          subject: `user:${user.id}`,
        });
        return admit(tx, user);
      });
      return answerFor(entry);
    },

    async signIn(email, password, address) {
      const shown = await userByPassword(email, password, address);
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

    userByPassword,

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
      await recordAudit(tx, {
        tenantId: null,
        actor: `user:${user.id}`,
        action: 'user.address-proved',
        subject: `user:${user.id}`,
      });
      return { ...user, email_verified: true };
    },

    join: insertMembership,
    admit,
    answerFor,
    announceJoined: announceMembership,
    settled: (change) => settled(changes, change),

    async disable(userId, actor) {
      const change = await store.directory(async (tx) => {
        const now = new Date(nowMs());
        if (!(await markDisabled(tx, userId, now))) return undefined;
        await endFamiliesOfUser(tx, userId, 'disabled', now);
        await recordAudit(tx, { tenantId: null, actor, action: 'user.disabled', subject: `user:${userId}` });
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
