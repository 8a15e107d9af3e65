import type { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { MessageSealer, work } from '../messages/message-payload.js';
import { acceptedOfSessions, forgetRows, sessionsThatWait } from './erasure.store.js';

const sessionsMax = 10_000;
const sessionsAtOnce = 50;
const rowsMax = 200;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/** Returns how many messages there were. */
export type ForgetAccepted = (scope: TenantScope, consumerKey: string) => Promise<number>;

/**
 * Deletes a person's messages that no execution has received yet: in open and in flushed buffers, and those whose session
 * was busy. Who sent them is sealed, and their session need not exist yet, so all that wait are opened.
 */
export function forgetAccepted(store: Store, sealer: Sealer): ForgetAccepted {
  const seal = new MessageSealer(sealer);
  const sentBy = work.pick({ consumerKey: true });
  return async (scope, consumerKey) => {
    const isTheirs = ({ sealed }: { readonly sealed: Uint8Array }): boolean =>
      seal.open<z.output<typeof sentBy>>(scope, sealed, sentBy).consumerKey === consumerKey;

    const forgetIn = async (sessions: readonly string[]): Promise<number> => {
      let forgotten = 0;
      for (let after: number | undefined = 0; after !== undefined;) {
        const from: number = after;
        const { rows, theirs } = await store.inTenant(scope, async (tx) => {
          const accepted = await acceptedOfSessions(tx, sessions, from, rowsMax);
          const seqs = accepted.filter(isTheirs).map(({ seq }) => seq);
          await forgetRows(tx, sessions, seqs);
          return { rows: accepted, theirs: seqs };
        });
        forgotten += theirs.length;
        after = rows.length < rowsMax ? undefined : rows.at(-1)?.seq;
      }
      return forgotten;
    };

    let forgotten = 0;
    for (let last: string | undefined = beforeAll; last !== undefined;) {
      const from: string = last;
      const sessions = await store.inTenant(scope, (tx) => sessionsThatWait(tx, from, sessionsMax));
      for (let index = 0; index < sessions.length; index += sessionsAtOnce)
        forgotten += await forgetIn(sessions.slice(index, index + sessionsAtOnce));
      last = sessions.length < sessionsMax ? undefined : sessions.at(-1);
    }
    return forgotten;
  };
}
