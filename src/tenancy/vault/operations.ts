import { z } from 'zod';
import { actorOf } from '../../kernel/caller.js';
import { didYouMean } from '../../kernel/closest-name.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import {
  named,
  declare,
  type Operation,
  optionalLimit,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  readCursor,
  rowsFor,
  tenantUser,
  textCursor,
  givenUuid,
} from '../../http/operations/index.js';
import { normalHost } from './allowed-hosts.js';
import { graceMsDefault, publicReference, type SecretDetails, type Secrets, secretsMax } from './secrets.js';
import { namePattern, refuseOddKey, refuseOddValue, valueBytesMax } from './secret-rules.js';
import { secretKinds } from './secrets.store.js';

const secretShape = named(
  'Secret',
  z.object({
    id: z.uuid(),
    name: z.string(),
    kind: z.enum(secretKinds),
    provider: z.string().nullable(),
    allowed_hosts: z.array(z.string()).nullable(),
    version: z.int().describe('Increases with each new value.'),
    created_by: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    value_changed_at: z.iso.datetime(),
    previous_value_accepted_until: z.iso
      .datetime()
      .nullable()
      .describe('The previous value is accepted from callers until then.'),
    references: z
      .array(z.object({ type: z.string(), id: z.string(), name: z.string() }))
      .describe('What uses the secret.'),
  }),
);

const oneSecret = z.object({ success: z.literal(true), data: secretShape });

const value = z
  .string()
  .describe(`1 to ${valueBytesMax} bytes; of an \`llm_key\` printable ASCII only. No operation returns it.`)
  .meta({ writeOnly: true });

const allowedHosts = z
  .array(z.string().max(255))
  .max(50)
  .nullable()
  .describe(
    'The hosts that editors may send the secret to; `*.` and a domain allow all names below it. TLS on any port; without ' +
      'TLS only to this machine.',
  );

const params = z.object({ id: givenUuid });

export function secretOperations(secrets: Secrets, providers: () => readonly string[]): readonly Operation[] {
  return [
    declare({
      name: 'secrets.create',
      method: 'POST',
      audit: 'secrets.create',
      idempotency: 'made',
      path: '/api/secrets',
      title: 'Store a secret or a vendor key',
      access: tenantUser('secrets:write'),
      body: z.object({
        name: z
          .string()
          .regex(namePattern, 'must have 1 to 64 letters, digits, "_", "." or "-"')
          .describe('Unique in the tenant; how other resources refer to the secret.'),
        value,
        kind: z.enum(secretKinds),
        provider: z.string().nullish().describe('The vendor of an `llm_key`.'),
        allowed_hosts: allowedHosts.optional(),
      }),
      output: oneSecret,
      status: 201,
      errors: ['conflict', 'invalid_provider'],
      handle: async ({ caller, body }) => {
        refuseOddValue(body.value);
        refuseOddKey(body.kind, body.value);
        const created = await secrets.create(caller.scope, actorOf(caller), {
          name: body.name,
          value: body.value,
          kind: body.kind,
          provider: providerOf(body.kind, body.provider ?? null, providers()),
          allowedHosts: hostsOf(body.allowed_hosts ?? null),
        });
        return { success: true, data: publicSecret(created) } as const;
      },
    }),
    declare({
      name: 'secrets.list',
      method: 'GET',
      path: '/api/secrets',
      title: 'List secrets with names, kinds, ages and references',
      description: 'All secrets, or one page if `limit` or `cursor` is given.',
      access: tenantUser('secrets:read'),
      query: pageQuery,
      output: pageShape(secretShape),
      handle: async ({ caller, query }) => {
        const limit = optionalLimit(query) ?? secretsMax;
        const { after = null } = pageAsked(query, nameOfCursor);
        const found = await secrets.list(caller.scope, { after, limit: rowsFor(limit) });
        return pageOf(found, limit, publicSecret, ({ row }) => textCursor(row.name));
      },
    }),
    declare({
      name: 'secrets.get',
      method: 'GET',
      path: '/api/secrets/:id',
      title: 'Show the metadata and the references of a secret',
      access: tenantUser('secrets:read'),
      params,
      output: oneSecret,
      errors: ['not_found'],
      handle: async ({ caller, params: { id } }) =>
        ({ success: true, data: publicSecret(await secrets.get(caller.scope, id)) }) as const,
    }),
    declare({
      name: 'secrets.set-value',
      method: 'PUT',
      audit: 'secrets.set-value',
      path: '/api/secrets/:id/value',
      title: 'Rotate a value; the previous one stays valid for a grace period',
      description:
        'The new value is used at once. Where callers authenticate with the secret, the previous value is also accepted until the grace period ends.',
      access: tenantUser('secrets:write'),
      params,
      body: z.object({
        value,
        grace_seconds: z
          .int()
          .min(0)
          .max(7 * 86_400)
          .default(graceMsDefault / 1_000),
      }),
      output: oneSecret,
      errors: ['not_found'],
      handle: async ({ caller, params: { id }, body }) => {
        refuseOddValue(body.value);
        const graceMs = body.grace_seconds * 1_000;
        const changed = await secrets.setValue(caller.scope, actorOf(caller), id, body.value, graceMs);
        return { success: true, data: publicSecret(changed) } as const;
      },
    }),
    declare({
      name: 'secrets.update',
      method: 'PATCH',
      audit: 'secrets.update',
      path: '/api/secrets/:id',
      title: 'Change where editors may send a secret',
      access: tenantUser('secrets:write'),
      params,
      body: z.object({ allowed_hosts: allowedHosts.optional() }),
      output: oneSecret,
      errors: ['not_found'],
      handle: async ({ caller, params: { id }, body }) => {
        const { scope } = caller;
        const secret =
          body.allowed_hosts === undefined
            ? await secrets.get(scope, id)
            : await secrets.setAllowedHosts(scope, actorOf(caller), id, hostsOf(body.allowed_hosts));
        return { success: true, data: publicSecret(secret) } as const;
      },
    }),
    declare({
      name: 'secrets.delete',
      method: 'DELETE',
      audit: 'secrets.delete',
      path: '/api/secrets/:id',
      title: 'Delete a secret; refused while referenced unless forced',
      access: tenantUser('secrets:write'),
      params,
      query: z.object({ force: z.enum(['true', 'false']).optional() }),
      output: z.object({ success: z.literal(true), message: z.string() }),
      errors: ['not_found', 'conflict'],
      handle: async ({ caller, params: { id }, query }) => {
        await secrets.delete(caller.scope, actorOf(caller), id, query.force === 'true');
        return { success: true, message: 'The secret was deleted.' } as const;
      },
    }),
  ];
}

function providerOf(kind: string, provider: string | null, known: readonly string[]): string | null {
  if (kind !== 'llm_key') {
    if (provider === null) return null;
    throw invalidField('provider', 'is only valid for secrets of kind llm_key');
  }
  if (provider === null) {
    throw new PlatformError('missing_required_field', {
      message: 'provider is required for a secret of kind llm_key.',
      details: { field: 'provider', issue: 'required' },
    });
  }
  if (known.includes(provider)) return provider;
  throw new PlatformError('invalid_provider', {
    message: `provider: ${provider} is not supported. It must be one of ${known.join(', ')}.${didYouMean(provider, known)}`,
    details: { field: 'provider', issue: `must be one of ${known.join(', ')}` },
  });
}

function hostsOf(hosts: readonly string[] | null): readonly string[] | null {
  if (hosts === null) return null;
  const normal = hosts.map((host, index) => {
    const found = normalHost(host);
    if (found === undefined)
      throw invalidField(`allowed_hosts.${index}`, 'must be a host such as api.example.com');
    return found;
  });
  return [...new Set(normal)];
}

function nameOfCursor(cursor: string): string {
  return readCursor(cursor, (name) => (namePattern.test(name) ? name : undefined));
}

function publicSecret({ row, references }: SecretDetails): z.input<typeof secretShape> {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    provider: row.provider,
    allowed_hosts: row.allowed_hosts,
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    value_changed_at: row.value_changed_at.toISOString(),
    previous_value_accepted_until: row.previous_accepted_until?.toISOString() ?? null,
    references: references.map(publicReference),
  };
}
