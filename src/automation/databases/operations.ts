import { z } from 'zod';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import {
  declare,
  done,
  doneShape,
  one,
  oneShape,
  type Operation,
  optionalPage,
  optionalPageShape,
  pageQuery,
  queryFlag,
  tenantUser,
  givenUuid,
} from '../../http/operations/index.js';
import { detailOf, summaryOf } from './responses.js';
import type { Configurations, Editor } from './configurations.js';
import { configurationDetail, configurationPatch, configurationSummary, newConfiguration } from './shapes.js';

const params = z.object({ id: givenUuid });
const databaseExample = {
  name: 'shop',
  connection_config: {
    host: 'db.example.com',
    port: 5_432,
    database: 'shop',
    username: 'troupe',
    password_secret_ref: 'shop-password',
    ssl: true,
  },
  settings: { allowed_tables: ['public.orders'] },
};
const listed = optionalPageShape(configurationSummary);

export function configurationOperations(configurations: Configurations): readonly Operation[] {
  return [...readingOperations(configurations), ...writingOperations(configurations)];
}

function readingOperations(configurations: Configurations): readonly Operation[] {
  return [
    declare({
      name: 'databases.list',
      method: 'GET',
      path: '/api/database-configs',
      title: 'List database configurations',
      description: 'Newest first. All are answered unless `limit` or `cursor` is given.',
      access: tenantUser('databases:read'),
      query: z.object({
        includeDeleted: queryFlag.default(false),
        activeOnly: queryFlag.default(false),
        ...pageQuery.shape,
      }),
      output: listed,
      handle: async ({ caller, query }) => {
        const { rows, nextCursor } = await configurations.list(caller.scope, query);
        return optionalPage(
          rows.map((row) => summaryOf(row, query.includeDeleted)),
          nextCursor,
        );
      },
    }),
    declare({
      name: 'databases.get',
      method: 'GET',
      path: '/api/database-configs/:id',
      title: 'One database configuration, with its schema as it was read last',
      access: tenantUser('databases:read'),
      params,
      output: oneShape(configurationDetail),
      errors: ['not_found'],
      handle: async ({ caller, params: { id } }) => one(detailOf(await configurations.get(caller.scope, id))),
    }),
  ];
}

function writingOperations(configurations: Configurations): readonly Operation[] {
  return [
    declare({
      name: 'databases.create',
      method: 'POST',
      audit: 'databases.create',
      idempotency: 'made',
      path: '/api/database-configs',
      title: 'Create a database configuration',
      description:
        'The password goes into the vault. In its place `password_secret_ref` names a secret of the tenant, or `vault_secret_id` gives its id. A new primary takes the place of the one before.',
      access: tenantUser('databases:create'),
      body: newConfiguration,
      shown: { bodyExample: databaseExample },
      output: oneShape(configurationDetail),
      status: 201,
      errors: ['conflict', 'insufficient_permissions'],
      handle: async ({ caller, body }) => one(detailOf(await configurations.create(editorOf(caller), body))),
    }),
    declare({
      name: 'databases.update',
      method: 'PATCH',
      audit: 'databases.update',
      path: '/api/database-configs/:id',
      title: 'Change a database configuration',
      description:
        'A JSON Merge Patch (RFC 7396). A password that is left out stays; an editor who names another host gives it anew.',
      access: tenantUser('databases:update'),
      params,
      body: configurationPatch,
      output: oneShape(configurationDetail),
      errors: ['not_found', 'insufficient_permissions'],
      handle: async ({ caller, params: { id }, body }) =>
        one(detailOf(await configurations.update(editorOf(caller), id, body))),
    }),
    declare({
      name: 'databases.delete',
      method: 'DELETE',
      audit: 'databases.delete',
      path: '/api/database-configs/:id',
      title: 'Delete a database configuration',
      description: 'It stays in lists with `includeDeleted`. Its password is erased.',
      access: tenantUser('databases:delete'),
      params,
      output: doneShape,
      errors: ['not_found'],
      handle: async ({ caller, params: { id } }) => {
        await configurations.delete(editorOf(caller), id);
        return done('The database configuration was deleted.');
      },
    }),
  ];
}

function editorOf(caller: TenantCaller): Editor {
  return { scope: caller.scope, actor: actorOf(caller), role: caller.role };
}
