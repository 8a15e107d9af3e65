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
  queryFlag,
  rowsFor,
  tenantCaller,
} from '../../http/operations/index.js';
import {
  consumerAnswer,
  consumerShape,
  cursorOfConsumer,
  decodeConsumerCursor,
  deniedAnswer,
  deniedShape,
} from './responses.js';
import type { Consumers } from './consumers.js';

const reasonCharactersMax = 1_000;
const searchCharactersMax = 255;

/** Long enough for a cursor with the longest key, in UTF-8 and base64. */
const consumerCursor = z.string().max(2_000).optional();

const oneConsumer = {
  params: z.object({ key: z.string().min(1).max(consumerKeyCharactersMax).describe('Percent-encoded.') }),
} as const;

export function consumerOperations(consumers: Consumers): readonly Operation[] {
  return [...readingOperations(consumers), ...denylistOperations(consumers)];
}

function readingOperations(consumers: Consumers): readonly Operation[] {
  return [
    declare({
      name: 'consumers.list',
      method: 'GET',
      path: '/api/v1/consumers',
      title: 'List consumers',
      description: 'Most recently seen first. `search` matches keys and names, regardless of case.',
      access: tenantCaller('consumers:read'),
      query: z.object({
        search: z.string().max(searchCharactersMax).optional(),
        blocked: queryFlag.optional(),
        limit: pageQuery.shape.limit,
        cursor: consumerCursor,
      }),
      output: pageShape(consumerShape),
      handle: async ({ caller, query: { search, blocked, ...page } }) => {
        const { limit, after } = pageAsked(page, decodeConsumerCursor);
        const filter = { search: search === '' ? undefined : search, blocked };
        const rows = await consumers.list(caller, filter, after, rowsFor(limit));
        return pageOf(rows, limit, (row) => consumerAnswer(row, caller.role), cursorOfConsumer);
      },
    }),
    declare({
      name: 'consumers.get',
      method: 'GET',
      path: '/api/v1/consumers/:key',
      title: 'Get one consumer across all sessions',
      access: tenantCaller('consumers:read'),
      ...oneConsumer,
      output: oneShape(consumerShape),
      handle: async ({ caller, params }) => {
        const found = await consumers.find(caller, params.key);
        if (found === null) throw new PlatformError('not_found', { message: 'The consumer was not found.' });
        return one(consumerAnswer(found, caller.role));
      },
    }),
  ];
}

function denylistOperations(consumers: Consumers): readonly Operation[] {
  return [
    declare({
      name: 'consumers.deny',
      method: 'POST',
      audit: 'consumers.deny',
      idempotency: { exempt: 'a repeat changes nothing' },
      path: '/api/v1/consumers/:key/deny',
      title: 'Add a consumer to the denylist',
      description:
        'Takes effect on every node within a second, for the whole tenant. Keys that were never seen can be denied too.',
      access: tenantCaller('telemetry:write'),
      ...oneConsumer,
      body: z.object({ reason: z.string().max(reasonCharactersMax).nullish() }).nullish(),
      shown: { bodyExample: { reason: 'Spam.' } },
      output: oneShape(consumerShape),
      handle: async ({ caller, params, body }) =>
        one(consumerAnswer(await consumers.deny(caller, params.key, body?.reason ?? undefined), caller.role)),
    }),
    declare({
      name: 'consumers.allow',
      method: 'DELETE',
      audit: 'consumers.allow',
      path: '/api/v1/consumers/:key/deny',
      title: 'Remove a consumer from the denylist',
      access: tenantCaller('telemetry:write'),
      ...oneConsumer,
      output: oneShape(consumerShape),
      handle: async ({ caller, params }) =>
        one(consumerAnswer(await consumers.allow(caller, params.key), caller.role)),
    }),
    declare({
      name: 'consumers.denylist',
      method: 'GET',
      path: '/api/v1/denylist',
      title: 'List denied consumers: by whom, since when and why',
      access: tenantCaller('telemetry:write'),
      query: z.object({ limit: pageQuery.shape.limit, cursor: consumerCursor }),
      output: pageShape(deniedShape),
      handle: async ({ caller, query }) => {
        const { limit, after } = pageAsked(query, decodeConsumerCursor);
        const denied = { search: undefined, blocked: true };
        const rows = await consumers.list(caller, denied, after, rowsFor(limit));
        return pageOf(rows, limit, deniedAnswer, cursorOfConsumer);
      },
    }),
  ];
}
