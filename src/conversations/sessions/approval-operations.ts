import { z } from 'zod';
import { actorOf } from '../../kernel/caller.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  named,
  cursorOfCreated,
  declare,
  one,
  oneShape,
  type Operation,
  pageAsked,
  pageOf,
  pageQuery,
  pageShape,
  tenantCaller,
  givenGuid,
  givenUuid,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { approvalStatuses, findApproval, listApprovals, type ReadApproval } from './approvals.store.js';
import type { Sessions } from './sessions.js';

const reasonCharsMax = 1_000;
const argumentsBytesMax = 64 * 1024;
const moment = z.iso.datetime();

const approvalShape = named(
  'Approval',
  z.object({
    id: z.uuid(),
    tool: z.string(),
    arguments: z
      .record(z.string(), z.unknown())
      .describe('Those of the model, or those that the person wrote who approved.'),
    session_id: z.uuid(),
    execution_id: z.uuid(),
    status: z.enum(approvalStatuses).describe('`voided`: the turn ended before anybody decided.'),
    expires_at: moment.describe('Without a decision the call is denied then.'),
    created_at: moment,
    decided_by: z.string().nullable(),
    decided_at: moment.nullable(),
    reason: z.string().nullable(),
  }),
);

const decisionBody = z.object({
  decision: z.enum(['approve', 'deny']),
  arguments: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe('Replace those of the model. They must fit the schema of the tool.'),
  reason: z.string().max(reasonCharsMax).nullish().describe('Told to the model after a denial.'),
});

/** The first fault of arguments for a tool with these parameters. */
export type FaultOfArguments = (
  scope: TenantScope,
  parameters: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
) => Promise<{ readonly at: string; readonly issue: string } | undefined>;

export interface ApprovalOperationParts {
  readonly sessions: Pick<Sessions, 'decide'>;
  readonly store: Store;
  readonly unseal: (sealed: string, executionId: string) => string;
  readonly faultOfArguments: FaultOfArguments;
}

export function approvalOperations(parts: ApprovalOperationParts): readonly Operation[] {
  const { store } = parts;
  const answer = answerWith(parts.unseal);
  return [
    declare({
      name: 'approvals.list',
      method: 'GET',
      path: '/api/v1/approvals',
      title: 'List calls of tools that people decide on, latest first.',
      access: tenantCaller('sessions:read'),
      query: pageQuery.extend({
        status: z.enum(approvalStatuses).optional(),
        session_id: givenGuid.optional(),
      }),
      output: pageShape(approvalShape),
      async handle({ caller, query }) {
        const page = pageAsked(query);
        const filter = { ...page, status: query.status, sessionId: query.session_id };
        const rows = await store.inTenant(caller.scope, (tx) => listApprovals(caller.scope, tx, filter));
        return pageOf(rows, page.limit, answer, cursorOfCreated);
      },
    }),
    declare({
      name: 'approvals.decide',
      method: 'POST',
      audit: 'approvals.decide',
      idempotency: { exempt: 'a call is decided once, and a repeat is told so' },
      path: '/api/v1/approvals/:id',
      title: 'Approve or deny the call of a tool.',
      description:
        'The turn goes on once all calls of its round are decided. A second decision is refused with `conflict`.',
      access: tenantCaller('sessions:control'),
      params: z.object({ id: givenUuid }),
      body: decisionBody,
      output: oneShape(approvalShape),
      errors: ['not_found', 'conflict', 'validation_error', 'payload_too_large'],
      async handle({ caller, params, body }) {
        const { scope } = caller;
        const approval = await found(store, scope, params.id);
        const edit = body.arguments ?? undefined;
        if (edit !== undefined) await refuseUnfit(parts, scope, approval, body.decision, edit);
        await parts.sessions.decide(scope, approval.session_id, {
          approvalId: approval.id,
          approved: body.decision === 'approve',
          arguments: edit === undefined ? undefined : JSON.stringify(edit),
          reason: body.reason ?? undefined,
          by: actorOf(caller),
        });
        return one(answer(await found(store, scope, params.id)));
      },
    }),
  ];
}

async function found(store: Store, scope: TenantScope, id: string): Promise<ReadApproval> {
  const row = await store.inTenant(scope, (tx) => findApproval(scope, tx, id));
  if (row === null) throw new PlatformError('not_found', { message: 'The approval was not found.' });
  return row;
}

async function refuseUnfit(
  { faultOfArguments }: ApprovalOperationParts,
  scope: TenantScope,
  { tool, parameters }: ReadApproval,
  decision: 'approve' | 'deny',
  edit: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (decision === 'deny') throw invalidField('arguments', 'must be left out of a denial');
  if (Buffer.byteLength(JSON.stringify(edit)) > argumentsBytesMax)
    throw invalidField('arguments', `must have at most ${argumentsBytesMax} bytes as JSON`);
  const fault = await faultOfArguments(scope, parameters, edit);
  if (fault === undefined) return;
  const field = fault.at === '' ? 'arguments' : `arguments.${fault.at}`;
  throw new PlatformError('validation_error', {
    message: `${field} does not fit the schema of the tool ${tool}: ${fault.issue}.`,
    details: { field, issue: fault.issue },
  });
}

function answerWith(unseal: ApprovalOperationParts['unseal']) {
  return (row: ReadApproval): z.output<typeof approvalShape> => ({
    id: row.id,
    tool: row.tool,
    arguments: JSON.parse(unseal(row.sealed_edit ?? row.sealed_arguments, row.execution_id)) as Record<
      string,
      unknown
    >,
    session_id: row.session_id,
    execution_id: row.execution_id,
    status: row.status,
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
    decided_by: row.decided_by,
    decided_at: row.decided_at?.toISOString() ?? null,
    reason: row.reason,
  });
}
