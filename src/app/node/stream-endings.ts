import type { OpenStreams, StreamOwner } from '../../http/edge/index.js';
import { identityTopics } from '../../tenancy/identity/index.js';
import type { Keys } from '../../tenancy/keys/index.js';
import type { Change, ChangeFeed } from '../../infra/storage/index.js';

/**
 * A stream ends with what it was opened with: a revoked or expired key, a signed-out user, a member who left. Answers
 * how to stop listening for that.
 */
export function endStreamsWithCredentials(
  streams: OpenStreams,
  keys: Pick<Keys, 'onRevoked'>,
  feed: ChangeFeed,
): () => void {
  const on = (topic: string, ground: (change: Change) => StreamOwner): (() => void) =>
    feed.subscribe(topic, {
      onChange: (change) => streams.cut(ground(change)),
      onDropEverything: () => streams.cutAll(),
    });
  const ends = [
    keys.onRevoked(({ keyId }) => streams.cut({ key: keyId })),
    on(identityTopics.family, ({ subject }) => ({ family: subject })),
    on(identityTopics.user, ({ subject }) => ({ user: subject })),
    on(identityTopics.membership, ({ subject, tenantId }) => ({ member: subject, tenant: tenantId ?? '' })),
  ];
  return () => {
    for (const end of ends) end();
  };
}
