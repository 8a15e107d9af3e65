import { z } from 'zod';
import {
  boundsOf,
  cutPage,
  declare,
  encodeCursor,
  list,
  type Operation,
  pageAsked,
  pageQuery,
  pageShape,
  rangeQuery,
  rowsFor,
  tenantCaller,
} from '../../http/operations/index.js';
import { type AuditReading, entryShape } from './reading.js';

const idCharactersMax = 256;
const id = z.string().min(1).max(idCharactersMax).optional();

export function auditOperations(reading: AuditReading): readonly Operation[] {
  return [
    declare({
      name: 'audit.list',
      method: 'GET',
      path: '/api/v1/audit',
      title: 'List what was changed in the tenant, and by whom, latest first',
      description:
        '`actor` and `target` are ids. Refused attempts on members, keys, secrets and control have the outcome `refused`.',
      access: tenantCaller('audit:read'),
      query: pageQuery.extend({ ...rangeQuery.shape, actor: id, target: id, action: id }),
      output: pageShape(entryShape),
      async handle({ caller, query }) {
        const { limit, after } = pageAsked(query);
        const { actor, target, action } = query;
        const filter = { limit: rowsFor(limit), after, actor, target, action, ...boundsOf(query) };
        const { rows, nextCursor } = cutPage(await reading.rows(caller.scope, filter), limit, (row) =>
          encodeCursor({ at: row.recorded_at, id: row.id }),
        );
        return {
          ...list([...(await reading.entries(caller.scope, rows))]),
          next_cursor: nextCursor ?? null,
        };
      },
    }),
  ];
}
