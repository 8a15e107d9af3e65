import { z } from 'zod';
import { type DirectoryTransaction, sql } from '../../infra/storage/index.js';

const linkedRow = z.object({ user_id: z.string(), disabled: z.boolean() });

export type LinkedRow = z.output<typeof linkedRow>;

/** A person as an external issuer identifies them. */
export interface OutsideIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/** The account that this person has signed in to before. */
export function findLinked(
  tx: DirectoryTransaction,
  { issuer, subject }: OutsideIdentity,
): Promise<LinkedRow | null> {
  return tx.maybeOne(
    sql.type(linkedRow)`
      select u.id as user_id, u.disabled_at is not null as disabled
      from outside_identities i join users u on u.id = i.user_id
      where i.issuer = ${issuer} and i.subject = ${subject}`,
  );
}

/** False if the person already has an account, or the account is linked to a person of this issuer. */
export async function insertIdentity(
  tx: DirectoryTransaction,
  { issuer, subject, userId, at }: OutsideIdentity & { readonly userId: string; readonly at: Date },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql.typeAlias('nothing')`
      insert into outside_identities (issuer, subject, user_id, linked_at)
      values (${issuer}, ${subject}, ${userId}, ${sql.timestamp(at)})
      on conflict do nothing`,
  );
  return rowCount === 1;
}
