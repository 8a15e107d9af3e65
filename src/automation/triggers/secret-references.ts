import { z } from 'zod';
import { sql } from '../../infra/storage/index.js';
import { type ReferenceFinder, SecretsByReference } from '../../tenancy/vault/index.js';

const use = z.object({ id: z.uuid(), name: z.string(), secrets: z.array(z.string()) });

/** The triggers that use the secrets, including disabled ones. */
export const findSecretReferences: ReferenceFinder = async (scope, tx, secrets) => {
  const known = new SecretsByReference(secrets);
  const wanted = sql.array(known.references, 'text');
  const uses = await tx.any(sql.type(use)`
    select id, name, secrets from triggers
    where tenant_id = ${scope.tenantId} and secrets && ${wanted} order by name`);
  return uses.flatMap(({ secrets: references, id, name }) =>
    known.named(references).map((secretId) => ({ secretId, type: 'trigger', id, name })),
  );
};
