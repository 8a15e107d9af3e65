import { useMutation, useQuery } from '@tanstack/react-query';
import { ShieldQuestion } from 'lucide-react';
import { useState } from 'react';
import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { FormProblem, inputClass } from '../../ui/field';
import { JsonField } from '../../ui/json-field';
import { JsonView } from '../../ui/json-view';
import { Time } from '../../ui/time';
import { readable } from '../../ui/unreadable-json';

type Listed = paths['/api/v1/approvals']['get']['responses'][200]['content']['application/json'];
type Approval = Listed['data'][number];

/** The calls of tools that wait for a person. */
export function PendingApprovals({
  sessionId,
  queryKey,
  changed,
}: {
  readonly sessionId: string;
  readonly queryKey: readonly unknown[];
  readonly changed: () => void;
}) {
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/v1/approvals', {
          params: { query: { status: 'pending', session_id: sessionId } },
          signal,
        }),
      ),
  });
  const pending = data?.data ?? [];
  if (pending.length === 0) return null;
  return (
    <div className="flex max-h-[55%] flex-col gap-3 overflow-y-auto border-t border-line bg-surface p-3">
      {pending.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} changed={changed} />
      ))}
    </div>
  );
}

function ApprovalCard({ approval, changed }: { readonly approval: Approval; readonly changed: () => void }) {
  const mayDecide = useAllowed('sessions:control');
  const [edit, setEdit] = useState<unknown>(undefined);
  const [reason, setReason] = useState('');
  const deciding = useMutation({
    mutationFn: async (decision: 'approve' | 'deny') =>
      take(
        api.POST('/api/v1/approvals/{id}', {
          params: { path: { id: approval.id } },
          body: {
            decision,
            ...(reason.trim() !== '' && { reason: reason.trim() }),
            ...(decision === 'approve' &&
              edit !== undefined &&
              readable({ arguments: edit as Record<string, unknown> })),
          },
        }),
      ),
    onSettled: changed,
  });
  return (
    <section
      aria-label={`Approval of ${approval.tool}`}
      className="flex flex-col gap-2 rounded-lg border border-accent p-3"
    >
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <ShieldQuestion size={16} aria-hidden className="text-accent" />
        <span>
          The agent wants to call <strong className="wrap-anywhere">{approval.tool}</strong>
        </span>
        <span className="text-xs text-muted">
          denied <Time at={approval.expires_at} /> without a decision
        </span>
      </div>
      {edit === undefined ? (
        <JsonView value={approval.arguments} label="Arguments" />
      ) : (
        <JsonField label="Arguments" kind="object" value={edit} onChange={setEdit} />
      )}
      {mayDecide ? (
        <>
          <FormProblem error={deciding.error} />
          <div className="flex flex-wrap items-center gap-2">
            <input
              aria-label="Reason, told to the model after a denial"
              placeholder="Reason, told to the model after a denial"
              className={`${inputClass} min-w-full flex-1 2xl:min-w-80`}
              maxLength={1_000}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
            <Button onClick={() => setEdit(edit === undefined ? approval.arguments : undefined)}>
              {edit === undefined ? 'Edit arguments' : 'Keep arguments'}
            </Button>
            <Button kind="dangerous" disabled={deciding.isPending} onClick={() => deciding.mutate('deny')}>
              Deny
            </Button>
            <Button kind="primary" busy={deciding.isPending} onClick={() => deciding.mutate('approve')}>
              Approve
            </Button>
          </div>
        </>
      ) : (
        <p className="text-xs text-muted">An owner or admin decides.</p>
      )}
    </section>
  );
}
