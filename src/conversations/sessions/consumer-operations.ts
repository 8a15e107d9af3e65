import { z } from 'zod';
import { consumerKeyCharactersMax } from '../invocation/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  declare,
  type Operation,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  tenantCaller,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { cursorOfSession, sessionAnswer, sessionShape } from './responses.js';
import { listSessions } from './reads.store.js';

export interface ConsumerSessionParts {
  readonly store: Store;
  /** Whether this consumer is known; an unknown consumer has no sessions to list. */
  readonly isKnownConsumer: (scope: TenantScope, consumerKey: string) => Promise<boolean>;
}

export function consumerSessionOperations({
  store,
  isKnownConsumer,
}: ConsumerSessionParts): readonly Operation[] {
  return [
    declare({
      name: 'consumers.sessions',
      method: 'GET',
      path: '/api/v1/consumers/:key/sessions',
      title: "List a consumer's sessions",
      description: 'Sorted by the latest message, newest first.',
      access: tenantCaller('consumers:read'),
      params: z.object({ key: z.string().min(1).max(consumerKeyCharactersMax).describe('Percent-encoded.') }),
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
  ];
}
