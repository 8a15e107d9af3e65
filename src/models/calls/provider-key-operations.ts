import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { listVendorModels, VendorError } from '../../llm/index.js';
import {
  declare,
  one,
  oneShape,
  type Operation,
  tenantUser,
  givenUuid,
} from '../../http/operations/index.js';
import type { Vault } from '../../tenancy/vault/index.js';
import type { VendorAccess } from './vendor-access.js';

export interface ProviderKeyParts {
  readonly access: VendorAccess;
  readonly vault: Pick<Vault, 'resolve'>;
  readonly time: Time;
}

const timeoutMs = 15_000;
const modelsShown = 500;

/** The test of a tenant's own vendor key: the vendor itself says whether it is valid. */
export function providerKeyOperations({ access, vault, time }: ProviderKeyParts): readonly Operation[] {
  return [
    declare({
      name: 'secrets.test',
      method: 'POST',
      audit: { exempt: 'a check that changes nothing' },
      path: '/api/secrets/:id/test',
      title: 'Ask the vendor whether a stored key is valid',
      description: 'For secrets of kind `llm_key`. Asks for the models of the key; nothing is spent.',
      access: tenantUser('secrets:write'),
      params: z.object({ id: givenUuid }),
      output: oneShape(
        z.object({
          valid: z.boolean(),
          models: z.array(z.string()).optional(),
          error: z.string().optional(),
        }),
      ),
      errors: ['not_found', 'validation_error'],
      handle: async ({ caller, params, signal }) => {
        const secret = await vault.resolve(caller.scope, { vault_secret_id: params.id });
        if (secret.name === '') throw new PlatformError('not_found');
        const { kind, provider, id, version } = secret;
        if (kind !== 'llm_key' || provider === null)
          throw invalidField('id', 'names a secret that is no vendor key');
        const adapter = access.adapters.get(provider);
        const credential = access.keys.forTenant(provider, {
          secretId: id,
          version: String(version),
          reveal: () => secret.value.reveal(),
        });
        if (adapter === undefined || credential === undefined) throw new PlatformError('invalid_provider');
        try {
          const { baseUrl, reveal } = credential;
          const nowMs = time.wallMs();
          const models = await listVendorModels({
            adapter,
            baseUrl,
            secret: reveal(),
            nowMs,
            timeoutMs,
            signal,
          });
          return one({ valid: true, models: models.slice(0, modelsShown) });
        } catch (error) {
          if (!(error instanceof VendorError)) throw error;
          return one({ valid: false, error: error.message });
        }
      },
    }),
  ];
}
