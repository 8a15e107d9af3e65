import { SealError, type SealingKey } from '../../infra/sealing/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { VersionRow } from './secrets.store.js';
import { VaultError } from './vault-error.js';

/** The parts of a place in the vault, outermost first: a row that is copied to another place is refused. */
export type Place = readonly [string, ...string[]];

export function seal(key: SealingKey, plain: Uint8Array, place: Place): Buffer {
  return key.seal(plain, ['vault', ...place]);
}

/** Throws `VaultError` if the bytes were changed, moved, or sealed with another key. */
export function open(key: SealingKey, sealed: Uint8Array, place: Place): Buffer {
  try {
    return key.open(sealed, ['vault', ...place]);
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    const message = `${place.join(' ')} does not open: it was changed or belongs elsewhere`;
    throw new VaultError('unreadable', message, { cause });
  }
}

/** The place that a version's encryption is bound to. */
export function placeOf(
  { tenantId }: TenantScope,
  row: Pick<VersionRow, 'secret_id' | 'version' | 'data_key_id'>,
): Place {
  return [
    'secret',
    tenantId.toLowerCase(),
    row.secret_id,
    'version',
    String(row.version),
    'data key',
    row.data_key_id,
  ];
}
