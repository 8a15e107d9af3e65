import { addressGroup } from '../../kernel/address.js';
import { PlatformError } from '../../kernel/errors.js';
import type { DirectoryTransaction, Store } from '../../infra/storage/index.js';
import { dayOf, subjectOf, tooManyToday } from './daily-count.js';
import { addNewTenant, lockUser, sweepNewTenants, tenantsThatCountFor } from './new-tenants.store.js';

/** Every tenant has its own free quota, so a user may not make an unlimited number. */
const tenantsOfUserMax = 20;
/**
 * A school or a company behind one address stays below it. An address that registers as fast as the window of anonymous
 * requests allows would make 172,800. Operators lower it with `TROUPE_NEW_TENANTS_PER_ADDRESS`.
 */
const newTenantsPerAddressDefault = 1_000;

/** The bounds of new tenants. Both are checked in the transaction that makes the tenant, so no race passes them. */
export interface NewTenants {
  /** Counts one for the address. Throws the refusal if the address has reached its bound for the day. */
  countForAddress(tx: DirectoryTransaction, address: string): Promise<void>;
  /** Throws the refusal if the user has the maximum number of tenants. */
  checkUser(tx: DirectoryTransaction, userId: string): Promise<void>;
  /** Removes the counts of past days. */
  sweep(): Promise<void>;
}

export function createNewTenants(
  store: Store,
  nowMs: () => number,
  perAddress: number = newTenantsPerAddressDefault,
): NewTenants {
  return {
    async countForAddress(tx, address) {
      const now = nowMs();
      const subject = subjectOf(addressGroup(address));
      if ((await addNewTenant(tx, subject, dayOf(now))) <= perAddress) return;
      throw tooManyToday(perAddress, now, `An address may create ${perAddress} tenants a day.`);
    },

    async checkUser(tx, userId) {
      await lockUser(tx, userId);
      if ((await tenantsThatCountFor(tx, userId)) < tenantsOfUserMax) return;
      throw new PlatformError('conflict', {
        message: `A user may have at most ${tenantsOfUserMax} tenants, created or owned. Give one to another owner first.`,
        details: { limit: tenantsOfUserMax },
      });
    },

    sweep: () => store.directory(sweepNewTenants),
  };
}
