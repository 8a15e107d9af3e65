import { Readable } from 'node:stream';
import type { ImapFlow } from 'imapflow';
import { z } from 'zod';
import type { TenantScope } from '../../context/tenant-scope.js';
import type { Store } from '../../storage/index.js';
import type { Item } from '../inbox/item.js';
import type { LiveTriggers } from '../live-triggers.js';
import type { Look } from '../sources/looker.js';
import { moveOn, type SourceRow, takeDue } from '../sources/sources.store.js';
import {
  connectMailbox,
  type Imap,
  type MailboxConnectionParts,
  MailboxError,
} from './mailbox-connection.js';
import { type JudgedMail, type MailIntake, type MailTrigger, mailTriggerOf } from './mail-intake.js';
import { parseMail } from './parse-mail.js';
import { mailBytesMax } from './smtp-listener.js';

/** News come by IDLE; this finds what it missed, and serves where there is none. */
const lookEveryMs = 20_000;
/**
 * Longer than a look takes. Of one that takes longer another node begins the same, and the first to finish counts; after
 * one whose node has died nobody looks for so long.
 */
const holdMs = 30_000;
const mailsMax = 20;
const dayMs = 86_400_000;
/** Servers tell the time of arrival in seconds, by clocks of their own. */
const clockSlackMs = 5_000;

const mailboxState = z.object({
  /** Whose mailbox was looked into; another begins anew. */
  about: z.string().optional(),
  /** Numbers of mails mean something under this mark alone. */
  validity: z.string().optional(),
  last_uid: z.number().optional(),
  /** What arrived before is no news, whatever its number. */
  began_ms: z.number().optional(),
  looked_ms: z.number().optional(),
});
type MailboxState = z.output<typeof mailboxState>;

export interface MailboxesParts extends MailboxConnectionParts {
  readonly store: Store;
  readonly live: LiveTriggers;
  readonly intake: Pick<MailIntake, 'judge' | 'acceptWithin'>;
  /** The server tells of news: look before it is time. */
  readonly wake: (scope: TenantScope, triggerId: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Open {
  readonly about: string;
  readonly client: ImapFlow;
}

interface Found {
  /** What was looked at. */
  readonly seen: readonly number[];
  readonly judged: readonly JudgedMail[];
  readonly state: MailboxState;
  readonly more: boolean;
}

/**
 * Looks into tenants' mailboxes over IMAP. A trigger begins with the mails that come after it. What a look finds is put
 * into the inbox in the transaction that moves the place in the mailbox on, so a mail runs once, whoever dies; after
 * that it is marked as seen. When the server numbers its mails anew, they are known by their Message-IDs.
 */
export class Mailboxes {
  readonly #parts: MailboxesParts;
  readonly #open = new Map<string, Promise<Open>>();

  constructor(parts: MailboxesParts) {
    this.#parts = parts;
  }

  /** Looks once, where it is due and nobody else looks. */
  async look(scope: TenantScope, triggerId: string, early: boolean): ReturnType<Look> {
    const { store, live } = this.#parts;
    const found = mailTriggerOf(await live.get(triggerId));
    const imap = found?.config.imap;
    if (found === undefined || imap === undefined || !found.trigger.enabled) {
      this.#close(triggerId);
      return { items: [] };
    }
    const source = await store.inTenant(scope, (tx) => takeDue(scope, tx, triggerId, holdMs, early));
    if (source === null) {
      // Another node looks after it now.
      this.#close(triggerId);
      return { items: [] };
    }
    try {
      const { client } = await this.#openFor(scope, triggerId, imap);
      const { items, more } = await this.#take(scope, found, client, source);
      return { items, againInMs: (more ? 0 : lookEveryMs) + 10 };
    } catch (error) {
      this.#close(triggerId);
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const triggerId of this.#open.keys()) this.#close(triggerId);
  }

  async #take(
    scope: TenantScope,
    found: MailTrigger,
    client: ImapFlow,
    source: SourceRow,
  ): Promise<{ readonly items: readonly Item[]; readonly more: boolean }> {
    const { store, intake, report } = this.#parts;
    const nowMs = source.now.getTime();
    const before = stateFor(found, mailboxState.parse(source.state));
    const { seen, judged, state, more } = await this.#read(found, client, before, nowMs);
    const dueAt = new Date(nowMs + (more ? 0 : lookEveryMs));
    const items = await store.inTenant(scope, async (tx) => {
      const moved = await moveOn(scope, tx, found.trigger.id, { before: source.state, state, dueAt });
      if (!moved) return undefined;
      const accepted: Item[] = [];
      for (const mail of judged) {
        const item = await intake.acceptWithin(scope, tx, mail);
        if (item !== undefined) accepted.push(item);
      }
      return accepted;
    });
    if (items !== undefined && seen.length > 0) {
      // For the people who look into the mailbox; what is taken is known without it.
      await client
        .messageFlagsAdd(seen.join(','), ['\\Seen'], { uid: true })
        .catch((error: unknown) => report('marking mails as seen', error));
    }
    return { items: items ?? [], more };
  }

  async #read(found: MailTrigger, client: ImapFlow, before: MailboxState, nowMs: number): Promise<Found> {
    const { mailbox } = client;
    if (mailbox === false) throw new MailboxError('The mailbox is not open.');
    const validity = String(mailbox.uidValidity);
    const beganMs = before.began_ms ?? nowMs;
    const isKnown = before.validity === validity;
    const after = isKnown ? (before.last_uid ?? 0) : 0;
    const since = new Date((before.looked_ms ?? beganMs) - dayMs);
    const wanted = isKnown ? { uid: `${after + 1}:*` } : { since };
    const listed = (await client.search(wanted, { uid: true })) || [];
    // A mailbox without news answers with its last mail.
    const all = listed.filter((uid) => uid > after).toSorted((one, other) => one - other);
    const uids = all.slice(0, mailsMax);
    const judged: JudgedMail[] = [];
    const seen: number[] = [];
    for (const uid of uids) {
      if (!(await isNews(client, uid, beganMs))) continue;
      seen.push(uid);
      const mail = await this.#fetch(found, client, uid);
      if (mail !== undefined) judged.push(mail);
    }
    const more = all.length > uids.length;
    // Before the first mail under these numbers all below the next number has been looked at.
    const lastUid = uids.at(-1) ?? Math.max(after, isKnown ? 0 : mailbox.uidNext - 1);
    const state = { about: before.about, validity, last_uid: lastUid, began_ms: beganMs, looked_ms: nowMs };
    return { seen, judged, state, more };
  }

  async #fetch(
    { trigger, config }: MailTrigger,
    client: ImapFlow,
    uid: number,
  ): Promise<JudgedMail | undefined> {
    const { intake, report } = this.#parts;
    const about = await client.fetchOne(String(uid), { size: true }, { uid: true });
    if (about && (about.size ?? 0) > mailBytesMax) {
      report('taking a mail of a mailbox', new MailboxError(`Mail ${uid} is too large.`));
      return undefined;
    }
    const whole = await client.fetchOne(String(uid), { source: { maxLength: mailBytesMax } }, { uid: true });
    if (!whole || whole.source === undefined) return undefined;
    const mail = await parseMail(Readable.from([whole.source]));
    const recipient = ownAddressOf(config.address, config.imap, trigger.id);
    return intake.judge({ trigger, config }, { mail, recipient, returnPath: undefined });
  }

  #openFor(scope: TenantScope, triggerId: string, imap: Imap): Promise<Open> {
    const about = JSON.stringify(imap);
    const known = this.#open.get(triggerId);
    const opening =
      known === undefined
        ? this.#connect(scope, triggerId, imap, about)
        : known.then((open) => {
            if (open.about === about && open.client.usable) return open;
            open.client.close();
            return this.#connect(scope, triggerId, imap, about);
          });
    this.#open.set(triggerId, opening);
    return opening;
  }

  async #connect(scope: TenantScope, triggerId: string, imap: Imap, about: string): Promise<Open> {
    const client = await connectMailbox(this.#parts, scope, imap);
    try {
      await client.mailboxOpen(imap.mailbox);
    } catch (error) {
      client.close();
      throw new MailboxError('The mailbox could not be opened.', { cause: error });
    }
    client.on('exists', () => this.#parts.wake(scope, triggerId));
    return { about, client };
  }

  #close(triggerId: string): void {
    const open = this.#open.get(triggerId);
    this.#open.delete(triggerId);
    // One that could not be opened has said so to whoever opened it.
    open?.then(({ client }) => client.close()).catch(() => undefined);
  }
}

function stateFor({ config }: MailTrigger, state: MailboxState): MailboxState {
  const about = JSON.stringify([config.imap?.host, config.imap?.user, config.imap?.mailbox]);
  return state.about === about || state.about === undefined ? { ...state, about } : { about };
}

/** False for what lay there before the trigger began, or has gone. */
async function isNews(client: ImapFlow, uid: number, beganMs: number): Promise<boolean> {
  const about = await client.fetchOne(String(uid), { internalDate: true }, { uid: true });
  if (!about) return false;
  const { internalDate } = about;
  return internalDate === undefined || new Date(internalDate).getTime() >= beganMs - clockSlackMs;
}

function ownAddressOf(address: string | undefined, imap: Imap | undefined, triggerId: string): string {
  const user = imap?.user ?? '';
  return (address ?? (user.includes('@') ? user : `${triggerId}@${imap?.host ?? 'localhost'}`)).toLowerCase();
}
