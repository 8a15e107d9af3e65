import type { ImapFlow, SearchObject } from 'imapflow';
import { MailboxError } from './mailbox-budget.js';

/** Which mails of a mailbox are new, by their numbers. */
export interface NewMails {
  /** Ascending. */
  readonly uids: readonly number[];
  /** Numbers up to here have been polled, apart from those above. */
  readonly polledUpTo: number;
  readonly more: boolean;
}

export type Searching = (query: SearchObject) => Promise<readonly number[]>;

/** Numbers have up to ten digits: an answer for this many stays below the line limit of 64 KB. */
export const searchWindow = 4_000;
/** The limit of one poll; a gap of 200,000 numbers is crossed in one poll, a larger one in several. */
const windowsMax = 50;
/** Deleted mails leave gaps; the mails of the last day are close together at the end. */
const emptyWindowsMax = 3;

/** Mails above the last polled number. `*` is the highest existing number. */
export async function mailsAfter(search: Searching, last: number): Promise<NewMails> {
  let from = last + 1;
  for (let windows = 0; windows < windowsMax; windows += 1) {
    const to = from + searchWindow - 1;
    const found = await search({ uid: `${from}:${to},*` });
    const uids = ascending(found.filter((uid) => uid >= from && uid <= to));
    const isLast = found.every((uid) => uid <= to);
    if (isLast || uids.length > 0) {
      return { uids, polledUpTo: isLast ? from - 1 : to, more: !isLast };
    }
    from = to + 1;
  }
  return { uids: [], polledUpTo: from - 1, more: true };
}

/** Mails that arrived since a time, if the numbers are not comparable: backwards from the highest. */
export async function mailsSince(search: Searching, since: Date): Promise<readonly number[]> {
  let to = (await search({ uid: '*' })).reduce((highest, uid) => Math.max(highest, uid), 0);
  const uids: number[] = [];
  let empty = 0;
  for (let windows = 0; to > 0 && windows < windowsMax && empty < emptyWindowsMax; windows += 1) {
    const from = Math.max(1, to - searchWindow + 1);
    const found = (await search({ since, uid: `${from}:${to}` })).filter((uid) => uid >= from && uid <= to);
    empty = found.length === 0 ? empty + 1 : 0;
    for (const uid of found) uids.push(uid);
    to = from - 1;
  }
  return ascending(uids);
}

function ascending(uids: readonly number[]): readonly number[] {
  return [...new Set(uids)].toSorted((one, other) => one - other);
}

/** A search that the server does not carry out is an error: without its answer every mail would count as polled. */
export function searchingIn(client: Pick<ImapFlow, 'search' | 'mailbox'>): Searching {
  return async (query) => {
    // The client answers a refused search, and one without a connection, with something else than a list.
    const found = await client.search(query, { uid: true });
    if (Array.isArray(found)) return found.filter((uid) => Number.isSafeInteger(uid) && uid > 0);
    // Servers may refuse `*` for an empty mailbox (RFC 3501, section 9).
    if (client.mailbox !== false && client.mailbox.exists === 0) return [];
    throw new MailboxError('The mail server refused a search, or ended the connection during it.');
  };
}
