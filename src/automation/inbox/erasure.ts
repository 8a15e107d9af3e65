import type { z } from 'zod';
import { sleep, type Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import { MessageSealer, work } from '../messages/message-payload.js';
import { type AcceptedMessage, acceptedOfSessions, forgetRows, sessionsThatWait } from './erasure.store.js';
import { freshMs } from './inbox-runner.js';

const sessionsMax = 10_000;
const sessionsAtOnce = 50;
const rowsMax = 200;
const beforeAll = '00000000-0000-0000-0000-000000000000';
/** From the look at a message in memory to the row of its execution. */
const beginMs = 1_000;

/** Returns how many messages there were. */
export type ForgetAccepted = (scope: TenantScope, consumerKey: string) => Promise<number>;

export interface ForgetAcceptedParts {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/**
 * Deletes a person's messages that no execution has received yet: in open and in flushed buffers, and those whose session
 * was busy. Who sent them is sealed, and their session need not exist yet, so all that wait are opened. A process that has
 * a deleted one in memory runs it for a short time more; afterwards its session is there to be erased, or it never is.
 */
export function forgetAccepted({ store, sealer, time, report }: ForgetAcceptedParts): ForgetAccepted {
  const seal = new MessageSealer(sealer);
  const sentBy = work.pick({ consumerKey: true });
  return async (scope, consumerKey) => {
    let [forgotten, mayRun] = [0, false];
    const isTheirs = ({ sealed }: AcceptedMessage): boolean => {
      try {
        return seal.open<z.output<typeof sentBy>>(scope, sealed, sentBy).consumerKey === consumerKey;
      } catch (error) {
        // No process can run it either. It must not keep the others from being erased.
        report('opening an accepted message', error);
        return false;
      }
    };

    const forgetIn = async (sessions: readonly string[]): Promise<void> => {
      for (let after: number | undefined = 0; after !== undefined;) {
        const from: number = after;
        const { rows, hasMore, theirs } = await store.inTenant(scope, async (tx) => {
          const accepted = await acceptedOfSessions(tx, sessions, from, rowsMax);
          const found = accepted.rows.filter(isTheirs);
          await forgetRows(
            tx,
            sessions,
            found.map(({ seq }) => seq),
          );
          return { ...accepted, theirs: found };
        });
        forgotten += theirs.length;
        mayRun ||= theirs.some(({ may_run: runs }) => runs);
        after = hasMore ? rows.at(-1)?.seq : undefined;
      }
    };

    for (let last: string | undefined = beforeAll; last !== undefined;) {
      const from: string = last;
      const sessions = await store.inTenant(scope, (tx) => sessionsThatWait(tx, from, sessionsMax));
      for (let index = 0; index < sessions.length; index += sessionsAtOnce)
        await forgetIn(sessions.slice(index, index + sessionsAtOnce));
      last = sessions.length < sessionsMax ? undefined : sessions.at(-1);
    }
    if (mayRun) await sleep(time, freshMs + beginMs);
    return forgotten;
  };
}
