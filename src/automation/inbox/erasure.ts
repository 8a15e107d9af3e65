import type { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { MessageSealer, work } from '../messages/message-payload.js';
import { acceptedOfSession, forgetRows } from './erasure.store.js';

const rowsMax = 500;

export type ForgetAccepted = (scope: TenantScope, sessionId: string, consumerKey: string) => Promise<void>;

/**
 * Deletes the messages that a person has sent to a session and that no execution has received yet. Who sent them is
 * sealed, so they are opened one by one.
 */
export function forgetAccepted(store: Store, sealer: Sealer): ForgetAccepted {
  const seal = new MessageSealer(sealer);
  const sentBy = work.pick({ consumerKey: true });
  return async (scope, sessionId, consumerKey) => {
    const isTheirs = ({ sealed }: { readonly sealed: Uint8Array }): boolean =>
      seal.open<z.output<typeof sentBy>>(scope, sealed, sentBy).consumerKey === consumerKey;
    let after: number | undefined = 0;
    while (after !== undefined) {
      const from: number = after;
      after = await store.inTenant(scope, async (tx) => {
        const rows = await acceptedOfSession(tx, sessionId, from, rowsMax);
        await forgetRows(
          tx,
          sessionId,
          rows.filter(isTheirs).map(({ seq }) => seq),
        );
        return rows.length < rowsMax ? undefined : rows.at(-1)?.seq;
      });
    }
  };
}
