import { z } from 'zod';
import { PlatformError } from '../kernel/errors.js';
import {
  named,
  declare,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  pageQuery,
  tenantUser,
  givenUuid,
} from '../http/operations/index.js';
import { authorOf } from './author.js';
import type { Publishing } from './publishing.js';
import { sideOf, versionOf, type Versions } from './versions.js';
import type { VersionRow } from './versions.store.js';

const ofAgent = { params: z.object({ id: givenUuid }), absent: 'agent_not_found' } as const;
const ofVersion = {
  params: z.object({ id: givenUuid, version: z.string().max(20) }),
  absent: 'agent_not_found',
} as const;

const version = named(
  'AgentVersion',
  z.object({
    version: z.int(),
    name: z.string(),
    created_by: z.uuid().nullable(),
    created_at: z.iso.datetime(),
    snapshot: z.record(z.string(), z.unknown()).describe("The agent's content, and its `schemas`."),
  }),
);
const listed = z.object({ ...listShape(version).shape, next_cursor: z.string().nullable() });

const side = z.string().regex(/^(?:draft|[1-9]\d{0,8})$/, { error: 'must be a version or `draft`' });

export function versionOperations(versions: Versions, publishing: Publishing): readonly Operation[] {
  return [
    declare({
      name: 'agent-versions.list',
      method: 'GET',
      path: '/api/agents/:id/versions',
      title: "List an agent's versions, newest first",
      description: 'A page has fewer versions if their snapshots are large.',
      access: tenantUser('versions:read'),
      ...ofAgent,
      query: z.object({
        limit: pageQuery.shape.limit.default(50),
        cursor: z.coerce.number().pipe(z.int().min(1)).optional(),
      }),
      output: listed,
      handle: async ({ caller, params, query: { limit, cursor } }) => {
        const page = { before: cursor, limit };
        const { versions: rows, next } = await versions.list(authorOf(caller), params.id, page);
        return { ...list(rows.map(answerOf)), next_cursor: next === null ? null : String(next) };
      },
    }),
    declare({
      name: 'agent-versions.compare',
      method: 'GET',
      path: '/api/agents/:id/versions/compare',
      title: 'Compare two versions, or a version and the working copy',
      access: tenantUser('versions:read'),
      ...ofAgent,
      query: z.object({
        from: side.describe('A version, or `draft` for the working copy.'),
        to: side.default('draft'),
      }),
      output: oneShape(
        z.object({
          from: side,
          to: side,
          changes: z.array(
            z.object({
              path: z.string(),
              kind: z.enum(['added', 'removed', 'changed']),
              from: z.unknown().optional(),
              to: z.unknown().optional(),
            }),
          ),
        }),
      ),
      errors: ['not_found'],
      handle: async ({ caller, params, query: { from, to } }) => {
        const changes = await versions.compare(authorOf(caller), params.id, sideOf(from), sideOf(to));
        return one({ from, to, changes: [...changes] });
      },
    }),
    declare({
      name: 'agent-versions.get',
      method: 'GET',
      path: '/api/agents/:id/versions/:version',
      title: 'Get one version with its snapshot',
      access: tenantUser('versions:read'),
      ...ofVersion,
      output: oneShape(version),
      errors: ['not_found'],
      handle: async ({ caller, params }) =>
        one(answerOf(await versions.get(authorOf(caller), params.id, known(params.version)))),
    }),
    declare({
      name: 'agent-versions.create',
      method: 'POST',
      audit: 'agent-versions.create',
      idempotency: 'made',
      path: '/api/agents/:id/versions',
      title: 'Store a snapshot of the working copy without publishing it',
      access: tenantUser('versions:create'),
      ...ofAgent,
      body: z.object({ name: z.string().min(1).max(200).nullish() }),
      output: oneShape(version),
      status: 201,
      errors: ['conflict'],
      handle: async ({ caller, params, body }) =>
        one(answerOf(await versions.create(authorOf(caller), params.id, body.name ?? undefined))),
    }),
    declare({
      name: 'agent-versions.rollback',
      method: 'POST',
      audit: 'agent-versions.rollback',
      idempotency: 'made',
      path: '/api/agents/:id/versions/:version/rollback',
      title: 'Roll back to an earlier version',
      description:
        'The content of the version becomes the working copy and a new version, which is returned. It runs at once if the agent is published; a draft stays a draft.',
      access: tenantUser('versions:rollback'),
      ...ofVersion,
      output: oneShape(version),
      errors: ['not_found', 'conflict', 'validation_error'],
      handle: async ({ caller, params }) =>
        one(answerOf(await publishing.rollback(authorOf(caller), params.id, known(params.version)))),
    }),
  ];
}

function known(text: string): number {
  const number = versionOf(text);
  if (number === undefined) throw new PlatformError('not_found', { message: 'The version was not found.' });
  return number;
}

function answerOf({ created_at, snapshot, ...row }: VersionRow): z.input<typeof version> {
  return { ...row, created_at: created_at.toISOString(), snapshot: { ...snapshot } };
}
