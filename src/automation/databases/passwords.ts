import type { Role } from '../../kernel/caller.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import {
  allowsHost,
  allowsPlace,
  approves,
  isUsualPlace,
  mayNotSend,
  type Place,
  type SecretRef,
  textOfPlace,
  type Vault,
} from '../../tenancy/vault/index.js';

/** A value that only the configuration has. No secret can be named like it. */
export const ownPassword = Symbol('own password');

/**
 * Where a password comes from and where it may go. A secret that people made goes to the hosts in its own list, and
 * with whoever is an owner or admin to any place. A configuration's own password goes to the place that it was given
 * for; whoever gives it anew may name another.
 */
export type PasswordSource = SecretRef | typeof ownPassword;

/** A source and a place, as they are kept once somebody who may decide it has put them together. */
export interface Approval {
  /** The source and the host. Null: the secret's own list grants it. */
  readonly pair: string | null;
  /** Scheme, host and port. Null beside a pair: it was approved when only hosts were named. */
  readonly place: string | null;
}

export const noApproval: Approval = { pair: null, place: null };

/** For whoever may decide it. */
export function approvalFor(source: PasswordSource, place: Place): Approval {
  return { pair: pairOf(source, place.host), place: textOfPlace(place) };
}

export function placeOfDatabase({
  host,
  port,
  ssl,
}: {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean;
}): Place {
  return { scheme: ssl ? 'postgresql+tls' : 'postgresql', host, port };
}

function pairOf(source: PasswordSource, host: string): string {
  const normal = host.toLowerCase().replace(/\.$/, '');
  if (source === ownPassword) return `own ${normal}`;
  return typeof source === 'string'
    ? `name:${source} ${normal}`
    : `id:${source.vault_secret_id.toLowerCase()} ${normal}`;
}

export interface PasswordChange {
  readonly source: PasswordSource;
  readonly place: Place;
  /** Whose wish it is. Null: nobody's in particular, only what was decided before counts. */
  readonly role: Role | null;
  /** What was decided before. */
  readonly before: Approval;
  /** Whether source and place are those of before. */
  readonly isUnchanged: boolean;
  /** Where messages say that the secret is named. */
  readonly at: string;
}

/** The approval to keep when the wish is granted. Throws when it is not. */
export async function judge(
  vault: Pick<Vault, 'keep'>,
  tx: TenantTransaction,
  wish: PasswordChange,
): Promise<Approval> {
  const { source, place, role, at } = wish;
  const secret = source === ownPassword ? undefined : await vault.keep(tx, source);
  // A secret without a name belongs to something else, and to nobody who sends its id.
  if (source !== ownPassword && (secret === undefined || secret.name === '')) {
    throw invalidField(fieldOf(source, at), 'there is no secret of this name or id');
  }
  const full = approvalFor(source, place);
  if (role !== null && approves(role)) return full;
  const kept = approvedBefore(wish, full);
  if (kept !== undefined) return kept;
  const hosts = secret?.allowedHosts ?? null;
  if (wish.isUnchanged ? allowsHost(hosts, place.host) : allowsPlace(hosts, place)) return noApproval;
  if (source === ownPassword) {
    throw new PlatformError('insufficient_permissions', {
      message: `${at}host: the password was given for another host, port or use of TLS. Give it anew, or let an owner or admin make the change.`,
      details: { field: `${at}host`, issue: 'the password was given for another host, port or use of TLS' },
    });
  }
  throw mayNotSend({ ...place, secret: source, field: fieldOf(source, at) });
}

/**
 * An approval that names the host alone holds for TLS on the usual port, and for the place where its configuration was
 * all along: to refuse that would stop every other database at the moment of an update.
 */
function approvedBefore(
  { before, place, isUnchanged }: PasswordChange,
  full: Approval,
): Approval | undefined {
  if (before.pair !== full.pair) return undefined;
  if (before.place !== null) return before.place === full.place ? full : undefined;
  if (isUsualPlace(place)) return full;
  return isUnchanged ? before : undefined;
}

export function ownerOf(configId: string): string {
  return `database:${configId}`;
}

function fieldOf(source: SecretRef, at: string): string {
  return `${at}${typeof source === 'string' ? 'password_secret_ref' : 'vault_secret_id'}`;
}
