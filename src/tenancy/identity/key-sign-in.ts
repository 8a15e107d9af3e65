import { recordAudit } from '../audit/index.js';
import { actorOf, type KeyCaller } from '../../kernel/caller.js';
import type { Store } from '../../infra/storage/index.js';
import type { AccessTokens } from './access-tokens.js';

/** Access tokens that act as an API key, for programs that use operations which need an access token. */
export interface KeySignIn {
  tokenFor(key: KeyCaller): Promise<string>;
}

export function createKeySignIn(dependencies: {
  readonly store: Store;
  readonly tokens: Pick<AccessTokens, 'mintForKey'>;
}): KeySignIn {
  const { store, tokens } = dependencies;
  return {
    async tokenFor(key) {
      const { scope, keyId, address } = key;
      await store.inTenant(scope, (tx) =>
        recordAudit(tx, {
          tenantId: scope.tenantId,
          actor: actorOf(key),
          action: 'key.token-issued',
          subject: `key:${keyId}`,
          details: { address },
        }),
      );
      return tokens.mintForKey(keyId, scope.tenantId);
    },
  };
}
