import { z } from 'zod';
import { sql } from '../../infra/storage/index.js';
import type { ReferenceFinder } from '../../tenancy/vault/index.js';

const use = z.object({
  id: z.uuid(),
  name: z.string(),
  secret_name: z.string().nullable(),
  secret_id: z.guid().nullable(),
});

/** The configurations that sign in with the secrets; deleted ones use none. */
export const findSecretReferences: ReferenceFinder = async (scope, tx, secrets) => {
  const names = sql.array(
    secrets.map(({ name }) => name),
    'text',
  );
  const ids = sql.array(
    secrets.map(({ id }) => id),
    'uuid',
  );
  const uses = await tx.any(sql.type(use)`
    select d.id, d.name, d.secret_name, d.secret_id from database_configs d
    where d.tenant_id = ${scope.tenantId} and (d.secret_name = any(${names}) or d.secret_id = any(${ids}))
    order by d.name, d.id`);
  return uses.flatMap(({ id, name, secret_name, secret_id }) => {
    const secret = secrets.find(
      (one) => one.id === secret_id || (one.name !== '' && one.name === secret_name),
    );
    return secret === undefined ? [] : [{ secretId: secret.id, type: 'database_config', id, name }];
  });
};
