// People of a tenant who see the console with another role.
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Role } from '../../../src/kernel/caller.js';
import { linkTo } from '../builders/account-mails.js';
import type { TenantNode } from '../servers/node.js';

/** The mails that the node has written. */
const mailsOf = ({ dataDir }: TenantNode) => ({
  async read(): Promise<readonly string[]> {
    const folder = join(dataDir, 'outbox');
    const names = (await readdir(folder).catch((): string[] => [])).toSorted();
    return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  },
});

/** The node as somebody with the role sees it: `owner` of the result is that person. */
export async function asMember(node: TenantNode, role: Role): Promise<TenantNode> {
  const { access_token: token, tenant_id: tenantId } = node.bootstrap;
  const email = `${role}-${randomUUID()}@test.example`;
  const password = 'correct horse battery';
  const invited = await node.client.call('POST', `/api/tenants/${tenantId}/invites`, {
    token,
    tenant: tenantId,
    body: { email, role },
  });
  if (invited.status !== 201) throw new Error(`inviting: ${invited.text}`);
  const link = await linkTo(mailsOf(node), 'join', email);
  const joined = await node.client.call('POST', '/api/invites/accept', {
    body: { token: link, password, name: role },
  });
  if (joined.status >= 300) throw new Error(`joining: ${joined.text}`);
  return { ...node, bootstrap: { ...node.bootstrap, owner: { ...node.bootstrap.owner, email, password } } };
}
