import { z } from 'zod';
import { sql } from '../infra/storage/index.js';
import { type ReferenceFinder, SecretsByReference } from '../tenancy/vault/index.js';

const use = z.object({ type: z.string(), id: z.uuid(), name: z.string(), secrets: z.array(z.string()) });

/**
 * The agents that use the secrets, in the tools of their working copies or published versions. Archived agents do
 * not count.
 */
export const findSecretReferences: ReferenceFinder = async (scope, tx, secrets) => {
  const known = new SecretsByReference(secrets);
  const wanted = sql.array(known.references, 'text');
  const uses = await tx.any(sql.type(use)`
    select 'agent_schema' as type, s.id, a.name || ' / ' || s.name as name, s.secrets
    from agent_schemas s join agents a on a.tenant_id = s.tenant_id and a.id = s.agent_id
    where s.tenant_id = ${scope.tenantId} and s.secrets && ${wanted} and a.status <> 'archived'
    union all
    select 'agent', a.id, a.name || ' / version ' || v.version, v.secrets
    from agents a
    join agent_versions v on v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = a.published_version
    where a.tenant_id = ${scope.tenantId} and v.secrets && ${wanted}
    order by 1, 3`);
  return uses.flatMap(({ secrets: references, ...rest }) =>
    known.named(references).map((secretId) => ({ secretId, ...rest })),
  );
};
