import type { BatchTarget } from '../../infra/storage/index.js';
import { StoreError } from '../../infra/storage/index.js';
import { messagesFoundFrom } from '../inbox/found-messages.store.js';
import type { InboxPlace } from '../messages/inbox-message.js';
import { mailsNotedFrom } from '../messages/mail-threads.store.js';

/** A mail to accept: recorded by its id, and put into the inbox. */
export interface AcceptedMail {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly message_id: string;
  readonly thread: string;
  readonly key: string;
  readonly session_id: string;
  readonly execution_id: string;
  readonly sealed: Buffer;
  readonly hold_ms: number;
  readonly keep_ms: number;
}

/** Its place in the order of acceptance; undefined for a repeated mail. */
export type MailAcceptance = { readonly place: Pick<InboxPlace, 'seq' | 'isBehind'> | undefined };

/** Accepts many mails in one statement. A mail that was recorded before, by any route, does not run again. */
export const mailTarget: BatchTarget<AcceptedMail, MailAcceptance> = {
  name: 'batch_trigger_mails',
  text: `
    with given as (
      select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::uuid[],
        $8::bytea[], $9::int8[], $10::int8[]) with ordinality
        as g (tenant_id, trigger_id, message_id, thread, key, session_id, execution_id, sealed, hold_ms, keep_ms,
          position)
    ), noted as (${mailsNotedFrom('given')})
    ${messagesFoundFrom('given join noted using (tenant_id, trigger_id, message_id)')}`,
  shareOf: ({ tenant_id }) => tenant_id,
  bytesOf: ({ sealed, key }) => sealed.byteLength + 2 * key.length + 256,
  values: (rows) => [
    rows.map((row) => row.tenant_id),
    rows.map((row) => row.trigger_id),
    rows.map((row) => row.message_id),
    rows.map((row) => row.thread),
    rows.map((row) => row.key),
    rows.map((row) => row.session_id),
    rows.map((row) => row.execution_id),
    rows.map((row) => row.sealed),
    rows.map((row) => row.hold_ms),
    rows.map((row) => row.keep_ms),
  ],
  outcomes: (rows, returned) => {
    const written = new Map(returned.map((row) => readReturned(row)));
    return rows.map(({ execution_id }) => ({ place: written.get(execution_id) }));
  },
};

function readReturned(row: unknown): readonly [string, NonNullable<MailAcceptance['place']>] {
  if (typeof row !== 'object' || row === null) throw new StoreError('unexpected-row', 'Accepting a mail');
  const field = (name: string): unknown => Reflect.get(row, name);
  const place = { seq: Number(field('seq')), isBehind: field('is_behind') === true };
  return [String(field('execution_id')), place];
}
