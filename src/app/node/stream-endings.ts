import type { OpenStreams, StreamOwner } from '../../http/edge/index.js';
import { identityTopics } from '../../tenancy/identity/index.js';
import type { Keys } from '../../tenancy/keys/index.js';
import type { Change, ChangeFeed } from '../../infra/storage/index.js';

/**
 * Ends a stream together with its credential: a revoked or expired key, a user that signed out, a member that left.
 * Returns a function that stops listening for these changes.
 */
export function endStreamsWithCredentials(
  streams: OpenStreams,
  keys: Pick<Keys, 'onRevoked'>,
  feed: ChangeFeed,
): () => void {
  const on = (topic: string, ownerOf: (change: Change) => StreamOwner): (() => void) =>
    feed.subscribe(topic, {
      onChange: (change) => streams.cut(ownerOf(change)),
      onDropEverything: () => streams.cutAll(),
    });
  const unsubscribes = [
    keys.onRevoked(({ keyId }) => streams.cut({ key: keyId })),
    on(identityTopics.family, ({ subject }) => ({ family: subject })),
    on(identityTopics.user, ({ subject }) => ({ user: subject })),
    on(identityTopics.suspendedTenant, ({ subject }) => ({ tenant: subject })),
    on(identityTopics.membership, ({ subject, tenantId }) => ({ member: subject, tenant: tenantId ?? '' })),
  ];
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}
