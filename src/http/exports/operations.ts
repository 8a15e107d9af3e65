import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { tooManyRequests } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  boundsOf,
  declare,
  type Operation,
  type Range,
  rangeQuery,
  StreamReply,
  type StreamWriter,
  tenantCaller,
} from '../operations/index.js';
import { contentTypes, type Format, formats, headOf, lineOf } from './format.js';
import type { ExportSource } from './source.js';

export const exportKinds = ['usage', 'calls', 'sessions', 'messages', 'executions', 'audit'] as const;
export type ExportKind = (typeof exportKinds)[number];

/** Rows in memory at once; sources of long texts give fewer. */
const rowsPerPage = 200;
/** Of one tenant on one node. */
const atOnceMax = 2;
const retryMs = 5_000;

export function exportOperations(
  sources: Readonly<Record<ExportKind, ExportSource>>,
  time: Pick<Time, 'wallMs'>,
): readonly Operation[] {
  const running = new Map<string, number>();
  return [
    declare({
      name: 'exports.read',
      method: 'GET',
      path: '/api/v1/exports/:kind',
      title: 'Take the rows of the tenant away as one file',
      description:
        `One of ${exportKinds.join(', ')}; all rows unless \`start_date\` or \`end_date\` is given. The columns are the ` +
        "fields of the lists. A CSV cell that begins like a formula is preceded by `'`. An answer that is cut is incomplete.",
      access: tenantCaller('exports:read'),
      params: z.object({ kind: z.enum(exportKinds) }),
      query: z.object({ ...rangeQuery.shape, format: z.enum(formats).default('jsonl') }),
      output: z.string(),
      contentType: 'application/x-ndjson',
      errors: ['not_found', 'rate_limit_exceeded'],
      handle({ caller: { scope }, params: { kind }, query }) {
        const range = boundsOf(query);
        const { format } = query;
        const { tenantId } = scope;
        if ((running.get(tenantId) ?? 0) >= atOnceMax) throw refusal(time.wallMs());
        const run = async (writer: StreamWriter): Promise<void> => {
          const count = running.get(tenantId) ?? 0;
          // Requests that came together pass the first check together.
          if (count >= atOnceMax) throw refusal(time.wallMs());
          running.set(tenantId, count + 1);
          try {
            await writeRows(sources[kind], { scope, range, format }, writer);
          } finally {
            const left = (running.get(tenantId) ?? 1) - 1;
            if (left === 0) running.delete(tenantId);
            else running.set(tenantId, left);
          }
        };
        const file = `${kind}-${new Date(time.wallMs()).toISOString().slice(0, 10)}.${format}`;
        return new StreamReply(contentTypes[format], run, {
          'Content-Disposition': `attachment; filename="${file}"`,
          'Cache-Control': 'no-store',
        });
      },
    }),
  ];
}

function refusal(nowMs: number): Error {
  return tooManyRequests(atOnceMax, {
    atMs: nowMs + retryMs,
    nowMs,
    message: `At most ${atOnceMax} exports of a tenant run at once. Retry when one has ended.`,
  });
}

/** Reads the next page only once the reader has taken the last one. */
async function writeRows(
  source: ExportSource,
  {
    scope,
    range,
    format,
  }: { readonly scope: TenantScope; readonly range: Partial<Range>; readonly format: Format },
  writer: StreamWriter,
): Promise<void> {
  const { columns } = source;
  const head = headOf(format, columns);
  if (head !== '' && !writer.write(head)) await writer.drained();
  let after: unknown;
  do {
    const page = await source.page(scope, { range, after, limit: rowsPerPage });
    for (const row of page.rows) {
      if (writer.gone.aborted) return;
      if (!writer.write(lineOf(format, columns, row))) await writer.drained();
    }
    after = page.after;
  } while (after !== undefined);
}
