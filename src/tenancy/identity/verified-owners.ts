import { recentEntries } from '../../kernel/recent-entries.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import { hasVerifiedOwner } from './verified-owners.store.js';

/**
 * Which tenants may cost the platform money and send mail in its name: those with an owner who has verified an address.
 * The answer is cached until the change feed reports a change of a membership or a verified address.
 */
export interface VerifiedOwners {
  /** Always true where `TROUPE_VERIFY_EMAIL` is off. */
  has(scope: TenantScope): Ready<boolean>;
  /** Throws `email_unverified`. */
  require(scope: TenantScope, work: string): Promise<void>;
  dropTenant(tenantId: string): void;
  dropAll(): void;
}

const tenantsMax = 100_000;

export function createVerifiedOwners(parts: {
  readonly store: Store;
  readonly isFresh: () => boolean;
  readonly required: boolean;
}): VerifiedOwners {
  const { store, isFresh, required } = parts;
  const known = recentEntries<boolean>(tenantsMax);
  let drops = 0;

  async function load(tenantId: string): Promise<boolean> {
    const dropsBefore = drops;
    const verified = await store.directory((tx) => hasVerifiedOwner(tx, tenantId));
    // A change during the query may be missing from its result.
    if (drops === dropsBefore && isFresh()) known.set(tenantId, verified);
    return verified;
  }

  const has = ({ tenantId }: TenantScope): Ready<boolean> => {
    if (!required) return true;
    const verified = isFresh() ? known.get(tenantId) : undefined;
    return verified ?? load(tenantId);
  };

  return {
    has,
    async require(scope, work) {
      if (!(await has(scope))) throw emailUnverified(work);
    },
    dropTenant(tenantId) {
      drops += 1;
      known.delete(tenantId);
    },
    dropAll() {
      drops += 1;
      known.clear();
    },
  };
}

function emailUnverified(work: string): PlatformError {
  return new PlatformError('email_unverified', {
    message: `${work} needs an owner of the tenant with a verified email address. Open the link in the verification mail, or request another with POST /api/auth/verify/resend.`,
  });
}
