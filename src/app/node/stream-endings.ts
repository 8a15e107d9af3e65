import type { OpenStreams, StreamOwner } from '../../http/edge/index.js';
import { identityTopics } from '../../tenancy/identity/index.js';
import type { Keys } from '../../tenancy/keys/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Change, ChangeFeed } from '../../infra/storage/index.js';

/**
 * Ends a stream together with its credential: a revoked or expired key, a user that signed out, a member that left. The
 * streams of a suspended or deleted tenant, of a disabled user, and of addresses that a key no longer allows, end with an
 * error event. Returns a function that stops listening for these changes.
 */
export function endStreamsWithCredentials(
  streams: OpenStreams,
  keys: Pick<Keys, 'onRevoked' | 'onAddressesChanged'>,
  feed: ChangeFeed,
): () => void {
  const on = (
    topic: string,
    ownerOf: (change: Change) => StreamOwner,
    refusalOf: (change: Change) => PlatformError | undefined = () => undefined,
  ): (() => void) =>
    feed.subscribe(topic, {
      onChange: (change) => streams.cut(ownerOf(change), { refusal: refusalOf(change) }),
      onDropEverything: () => streams.cutAll(),
    });
  const deleted = new PlatformError('tenant_not_found', { message: 'The tenant was deleted.' });
  /** The suspension of a deleted tenant follows its deletion, so the last one is enough. */
  let lastDeleted: string | undefined;
  const unsubscribes = [
    keys.onRevoked(({ keyId }) => streams.cut({ key: keyId })),
    keys.onAddressesChanged(({ keyId, allows }) =>
      streams.cut({ key: keyId }, { refusal: new PlatformError('address_not_allowed'), spares: allows }),
    ),
    on(identityTopics.family, ({ subject }) => ({ family: subject })),
    on(
      identityTopics.user,
      ({ subject }) => ({ user: subject }),
      () => new PlatformError('authentication_required'),
    ),
    on(
      identityTopics.deletedTenant,
      ({ subject }) => ({ tenant: subject }),
      ({ subject }) => {
        lastDeleted = subject;
        return deleted;
      },
    ),
    on(
      identityTopics.suspendedTenant,
      ({ subject }) => ({ tenant: subject }),
      ({ subject }) => (subject === lastDeleted ? deleted : new PlatformError('tenant_suspended')),
    ),
    on(identityTopics.membership, ({ subject, tenantId }) => ({ member: subject, tenant: tenantId ?? '' })),
  ];
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
