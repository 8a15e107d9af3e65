import { z } from 'zod';
import { PlatformError } from '../errors.js';
import { declare, list, listShape, one, oneShape, type Operation, tenantUser } from '../operations/index.js';
import { authorOf } from './author.js';
import type { Publishing } from './publishing.js';
import { sideOf, versionOf, type Versions } from './versions.js';
import type { VersionRow, VersionSummary } from './versions.store.js';

const ofAgent = { params: z.object({ id: z.uuid() }), absent: 'agent_not_found' } as const;
const ofVersion = {
  params: z.object({ id: z.uuid(), version: z.string().max(20) }),
  absent: 'agent_not_found',
} as const;

const summary = z.object({
  version: z.int(),
  name: z.string(),
  created_by: z.uuid().nullable(),
  created_at: z.iso.datetime(),
});
const whole = summary.extend({
  snapshot: z.record(z.string(), z.unknown()).describe("The agent's content, and its `schemas`."),
});
const listed = z.object({ ...listShape(summary).shape, next_cursor: z.string().nullable().optional() });

const side = z.string().regex(/^(?:draft|[1-9]\d{0,8})$/, { error: 'must be a version or `draft`' });

export function versionOperations(versions: Versions, publishing: Publishing): readonly Operation[] {
  return [
    declare({
      name: 'agent-versions.list',
      method: 'GET',
      path: '/api/agents/:id/versions',
      title: "List an agent's versions, newest first",
      description: 'Without their snapshots. All are answered unless `limit` or `cursor` is given.',
      access: tenantUser('versions:read'),
      ...ofAgent,
      query: z.object({
        limit: z.coerce.number().pipe(z.int().min(1).max(100)).optional(),
        cursor: z.coerce.number().pipe(z.int().min(1)).optional(),
      }),
      output: listed,
      handle: async ({ caller, params, query: { limit, cursor } }) => {
        const author = authorOf(caller);
        if (limit === undefined && cursor === undefined) {
          return list((await versions.list(author, params.id, {})).map(summaryOf));
        }
        const size = limit ?? 50;
        const rows = await versions.list(author, params.id, { before: cursor, limit: size + 1 });
        const page = rows.slice(0, size);
        const next_cursor = rows.length > size ? String(page.at(-1)?.version) : null;
        return { ...list(page.map(summaryOf)), next_cursor };
      },
    }),
    declare({
      name: 'agent-versions.compare',
      method: 'GET',
      path: '/api/agents/:id/versions/compare',
      title: 'What differs between two versions, or between one and the working copy',
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
      title: 'One version, with its snapshot',
      access: tenantUser('versions:read'),
      ...ofVersion,
      output: oneShape(whole),
      errors: ['not_found'],
      handle: async ({ caller, params }) =>
        one(wholeOf(await versions.get(authorOf(caller), params.id, known(params.version)))),
    }),
    declare({
      name: 'agent-versions.create',
      method: 'POST',
      path: '/api/agents/:id/versions',
      title: 'Take a snapshot of the working copy, without publishing it',
      access: tenantUser('versions:create'),
      ...ofAgent,
      body: z.object({ name: z.string().min(1).max(200).nullish() }),
      output: oneShape(whole),
      status: 201,
      errors: ['conflict'],
      handle: async ({ caller, params, body }) =>
        one(wholeOf(await versions.create(authorOf(caller), params.id, body.name ?? undefined))),
    }),
    declare({
      name: 'agent-versions.rollback',
      method: 'POST',
      path: '/api/agents/:id/versions/:version/rollback',
      title: 'Go back to an earlier version',
      description:
        'Its content becomes the working copy and a new version, which is answered. That runs at once where the agent is published; a draft stays one.',
      access: tenantUser('versions:rollback'),
      ...ofVersion,
      output: oneShape(whole),
      errors: ['not_found', 'conflict', 'validation_error'],
      handle: async ({ caller, params }) =>
        one(wholeOf(await publishing.rollback(authorOf(caller), params.id, known(params.version)))),
    }),
  ];
}

function known(text: string): number {
  const version = versionOf(text);
  if (version === undefined) throw new PlatformError('not_found', { message: 'The version was not found.' });
  return version;
}

function summaryOf({ version, name, created_by, created_at }: VersionSummary): z.input<typeof summary> {
  return { version, name, created_by, created_at: created_at.toISOString() };
}

function wholeOf(row: VersionRow): z.input<typeof whole> {
  return { ...summaryOf(row), snapshot: { ...row.snapshot } };
}
