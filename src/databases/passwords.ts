import type { Role } from '../context/caller.js';
import { invalidField, PlatformError } from '../errors.js';
import type { TenantTransaction } from '../storage/index.js';
import { allowsHost, approves, mayNotSend, type SecretRef, type Vault } from '../vault/index.js';

/** A value that only the configuration has. No secret can be named like it. */
export const ownPassword = Symbol('own password');

/**
 * Where a password comes from and where it may go. A secret that people made goes to the hosts in its own list, and
 * with whoever is an owner or admin to any. A configuration's own password goes to the host that it was given for;
 * whoever gives it anew may name another.
 */
export type PasswordSource = SecretRef | typeof ownPassword;

/** A source and a host, as they are kept once somebody who may decide it has put them together. */
export function pairOf(source: PasswordSource, host: string): string {
  const normal = host.toLowerCase().replace(/\.$/, '');
  if (source === ownPassword) return `own ${normal}`;
  return typeof source === 'string'
    ? `name:${source} ${normal}`
    : `id:${source.vault_secret_id.toLowerCase()} ${normal}`;
}

export interface Wish {
  readonly source: PasswordSource;
  readonly host: string;
  /** Whose wish it is. Null: nobody's in particular, only what was decided before counts. */
  readonly role: Role | null;
  /** The pair that was decided on before. */
  readonly approvedFor: string | null;
  /** Where messages say that the secret is named. */
  readonly at: string;
}

/** The pair to remember when the wish is granted; null where the secret's own list grants it. Throws when it is not. */
export async function judge(
  vault: Pick<Vault, 'keep'>,
  tx: TenantTransaction,
  wish: Wish,
): Promise<string | null> {
  const { source, host, role, approvedFor, at } = wish;
  const pair = pairOf(source, host);
  const secret = source === ownPassword ? undefined : await vault.keep(tx, source);
  // A secret without a name belongs to something else, and to nobody who sends its id.
  if (source !== ownPassword && (secret === undefined || secret.name === '')) {
    throw invalidField(fieldOf(source, at), 'there is no secret of this name or id');
  }
  if ((role !== null && approves(role)) || approvedFor === pair) return pair;
  if (allowsHost(secret?.allowedHosts ?? null, host)) return null;
  if (source === ownPassword) {
    throw new PlatformError('insufficient_permissions', {
      message: `${at}host: the password was given for another host. Give it anew, or let an owner or admin change the host.`,
      details: { field: `${at}host`, issue: 'the password was given for another host' },
    });
  }
  throw mayNotSend({ secret: source, field: fieldOf(source, at), host });
}

export function ownerOf(configId: string): string {
  return `database:${configId}`;
}

function fieldOf(source: SecretRef, at: string): string {
  return `${at}${typeof source === 'string' ? 'password_secret_ref' : 'vault_secret_id'}`;
}
