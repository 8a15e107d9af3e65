import { randomUUID } from 'node:crypto';
import type { Role } from '../../../src/kernel/caller.js';
import { sql, type Store } from '../../../src/infra/storage/index.js';
import type { Api } from '../clients/api.js';
import type { Client } from '../clients/client.js';

/** Somebody with an account, signed in. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly token: string;
  readonly refreshToken: string;
  /** The tenant that was made for them. */
  readonly tenantId: string;
}

export async function registerPerson(api: Api): Promise<Person> {
  const email = `${randomUUID()}@example.com`;
  const password = 'correct horse battery';
  const answer = await api.post('/api/auth/register', { email, password });
  return {
    id: answer.textAt('data.user.id'),
    email,
    password,
    token: answer.textAt('data.access_token'),
    refreshToken: answer.textAt('data.refresh_token'),
    tenantId: answer.textAt('data.tenants.0.id'),
  };
}

/** A new person who is also a member of another's tenant, without an invitation. */
export async function addMember(
  node: { readonly api: Api; readonly store: Store },
  tenantId: string,
  role: Role,
): Promise<Person> {
  const person = await registerPerson(node.api);
  await node.store.directory((tx) =>
    tx.query(sql.typeAlias('nothing')`
      insert into memberships (tenant_id, user_id, role) values (${tenantId}, ${person.id}, ${role})`),
  );
  return { ...person, tenantId };
}

/** A new person of a whole node. */
export async function registerAt(client: Client): Promise<{ readonly id: string; readonly token: string }> {
  const body = { email: `${randomUUID()}@example.com`, password: 'correct horse battery' };
  const { status, json, text } = await client.call('POST', '/api/auth/register', { body });
  if (status !== 201) throw new Error(`registering: ${text}`);
  return { id: json.data.user.id, token: json.data.access_token };
}
