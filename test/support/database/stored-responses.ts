import type { TenantNode } from '../servers/node.js';
import { ownerView } from './owner-view.js';

/** The stored responses of the tenant, as the database holds them. */
export async function storedBy({
  databaseUrl,
  bootstrap,
}: TenantNode): Promise<readonly { sealed: Buffer }[]> {
  const owner = await ownerView(databaseUrl);
  try {
    const { rows } = await owner.query<{ sealed: Buffer }>(
      'select sealed from stored_responses where tenant_id = $1',
      [bootstrap.tenant_id],
    );
    return rows;
  } finally {
    await owner.end();
  }
}
