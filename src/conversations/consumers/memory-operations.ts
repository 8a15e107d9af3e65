import { z } from 'zod';
import { consumerKeyCharactersMax } from '../invocation/index.js';
import {
  declare,
  done,
  doneShape,
  one,
  oneShape,
  type Operation,
  tenantCaller,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { Consumers } from './consumers.js';
import { findFacts } from './facts.store.js';

const params = z.object({
  key: z.string().min(1).max(consumerKeyCharactersMax).describe('Percent-encoded.'),
});

/** Shows what agents remember of a consumer, and erases it on request. */
export function memoryOperations(store: Store, consumers: Pick<Consumers, 'forget'>): readonly Operation[] {
  return [
    declare({
      name: 'consumers.memory',
      method: 'GET',
      path: '/api/v1/consumers/:key/memory',
      title: 'Get what agents remember of a consumer',
      access: tenantCaller('consumers:read'),
      params,
      output: oneShape(
        z.object({
          consumer_key: z.string(),
          facts: z.array(z.string()),
          updated_at: z.iso.datetime().nullable().describe('Null if nothing is remembered.'),
        }),
      ),
      handle: async ({ caller, params: { key } }) => {
        const found = await store.inTenant(caller.scope, (tx) => findFacts(tx, key));
        const known = found !== null && found.facts.length > 0 ? found : undefined;
        return one({
          consumer_key: key,
          facts: known?.facts ?? [],
          updated_at: known?.updated_at.toISOString() ?? null,
        });
      },
    }),
    declare({
      name: 'consumers.forget',
      method: 'DELETE',
      audit: 'consumers.forget',
      path: '/api/v1/consumers/:key/memory',
      title: 'Delete what agents remember of a consumer',
      description: 'The summary of a session is deleted with the session.',
      access: tenantCaller('consumers:delete'),
      params,
      output: doneShape,
      errors: ['not_found'],
      handle: async ({ caller, params: { key } }) => {
        await consumers.forget(caller, key);
        return done('The memory of the consumer was deleted.');
      },
    }),
  ];
}
