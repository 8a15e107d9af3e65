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

/** The secret that holds a configuration's own password. No other secret can have such a name. */
export const ownPassword = Symbol('own password');

/**
 * Where a password comes from and where it may be sent. A tenant's secret may go to the hosts in its own list; owners
 * and admins may send it anywhere. A configuration's own password may go only to the destination it was given for;
 * entering it again may name another.
 */
export type PasswordSource = SecretRef | typeof ownPassword;

/** A source and a destination, as stored once an authorised member has combined them. */
export interface Approval {
  /** The source and the host. Null: the secret's own list grants it. */
  readonly pair: string | null;
  /** Scheme, host and port. Null beside a pair: it was approved when approvals named hosts only. */
  readonly place: string | null;
}

export const noApproval: Approval = { pair: null, place: null };

/** The approval that owners and admins give by saving. */
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
  /** The role of the requester. Null: no requester, so only earlier approvals count. */
  readonly role: Role | null;
  /** The earlier approvals. */
  readonly before: Approval;
  /** Whether source and destination are unchanged. */
  readonly isUnchanged: boolean;
  /** The prefix of field names in messages. */
  readonly at: string;
}

/** Returns the approval to store if the request is granted; throws otherwise. */
export async function approvalToStore(
  vault: Pick<Vault, 'keep'>,
  tx: TenantTransaction,
  change: PasswordChange,
): Promise<Approval> {
  const { source, place, role, at } = change;
  const secret = source === ownPassword ? undefined : await vault.keep(tx, source);
  // A secret without a name belongs to another resource; sending its id does not grant its use.
  if (source !== ownPassword && (secret === undefined || secret.name === '')) {
    throw invalidField(fieldOf(source, at), 'names a secret that does not exist');
  }
  const full = approvalFor(source, place);
  if (role !== null && approves(role)) return full;
  const kept = approvedBefore(change, full);
  if (kept !== undefined) return kept;
  const hosts = secret?.allowedHosts ?? null;
  if (change.isUnchanged ? allowsHost(hosts, place.host) : allowsPlace(hosts, place)) return noApproval;
  if (source === ownPassword) {
    throw new PlatformError('insufficient_permissions', {
      message: `${at}host: the password was given for another host, port or use of TLS. Enter it again, or ask an owner or admin to make the change.`,
      details: { field: `${at}host`, issue: 'the password was given for another host, port or use of TLS' },
    });
  }
  throw mayNotSend({ ...place, secret: source, field: fieldOf(source, at) });
}

/**
 * An approval that names only the host is valid for TLS on the default port, and for the place that its configuration
 * has had all along: refusing that would stop every other database at an update.
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
