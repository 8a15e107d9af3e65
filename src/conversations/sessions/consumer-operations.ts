import { z } from 'zod';
import { consumerKeyCharactersMax } from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  declare,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  tenantCaller,
} from '../../http/operations/index.js';
import { type ConsumerErasureParts, eraseConsumer } from './consumer-erasure.js';
import { cursorOfSession, sessionAnswer, sessionShape } from './responses.js';
import { listSessions } from './reads.store.js';

const params = z.object({
  key: z.string().min(1).max(consumerKeyCharactersMax).describe('Percent-encoded.'),
});

export type ConsumerSessionParts = ConsumerErasureParts;

export function consumerSessionOperations(parts: ConsumerSessionParts): readonly Operation[] {
  const { store, isKnownConsumer } = parts;
  return [
    declare({
      name: 'consumers.sessions',
      method: 'GET',
      path: '/api/v1/consumers/:key/sessions',
      title: "List a consumer's sessions",
      description: 'Sorted by the latest message, newest first.',
      access: tenantCaller('consumers:read'),
      params,
      query: pageQuery,
      output: pageShape(sessionShape),
      errors: ['not_found'],
      async handle({ caller: { scope }, params, query }) {
        if (!(await isKnownConsumer(scope, params.key)))
          throw new PlatformError('not_found', { message: 'The consumer was not found.' });
        const page = pageAsked(query);
        const filter = { ...page, consumerKey: params.key, controlMode: undefined, agentId: undefined };
        const rows = await store.inTenant(scope, (tx) => listSessions(scope, tx, filter));
        return pageOf(rows, page.limit, sessionAnswer, cursorOfSession);
      },
    }),
    declare({
      name: 'consumers.erase',
      method: 'DELETE',
      // The subject names the person by a hash only; the table would record the key.
      audit: { action: 'consumer.erased', by: 'subject' },
      path: '/api/v1/consumers/:key',
      title: 'Erase a consumer with all sessions and all that is known of the person',
      description: 'A block stays in force, under a keyed hash of the key.',
      access: tenantCaller('consumers:delete'),
      params,
      output: oneShape(z.object({ sessions: z.number(), messages: z.number(), executions: z.number() })),
      errors: ['not_found'],
      handle: async ({ caller, params: { key } }) => one(await eraseConsumer(parts, caller, key)),
    }),
  ];
}
