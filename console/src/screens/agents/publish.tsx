import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { useDialogHold } from '../../ui/dialog-hold';
import { FormProblem, problemOf, TextField } from '../../ui/field';
import { Loaded } from '../../ui/states';
import { succeeded } from '../../ui/toasts';
import { Findings } from './findings';
import type { Agent } from './types';

/** Checks the working copy, shows what prevents its publication, and publishes it. */
export function Publish({
  agent,
  open,
  onClose,
}: {
  readonly agent: Agent;
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Publish ${agent.commercial_name}`}
      description="The saved working copy becomes a new version, and new messages are answered by it."
      wide
    >
      <Checked agent={agent} onClose={onClose} />
    </Dialog>
  );
}

function Checked({ agent, onClose }: { readonly agent: Agent; readonly onClose: () => void }) {
  const path = { id: agent.id };
  const key = useKey('agents');
  const [rate, setRate] = useState(agent.config.rate_limit?.toString() ?? '');
  const checks = useQuery({
    queryKey: useKey('agents', agent.id, 'checks', agent.updated_at),
    queryFn: () => take(api.POST('/api/agents/{id}/validate', { params: { path } })),
    gcTime: 0,
    staleTime: 0,
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/agents/{id}/publish', {
          params: { path },
          body: { config: { rate_limit: rate === '' ? null : Number(rate) } },
        }),
      ),
    onSuccess: async ({ data }) => {
      // First, so that the checks of what is published are not made again.
      onClose();
      await queries.invalidateQueries({ queryKey: key });
      succeeded(`Version ${data.published_version} serves now`);
    },
  });
  useDialogHold(isPending);
  return (
    <Loaded query={checks}>
      {({ data: { valid, issues, warnings } }) => (
        <div className="flex flex-col gap-4">
          {valid ? (
            <p className="text-sm text-good">Every check passed.</p>
          ) : (
            <p className="text-sm text-bad">These findings prevent the publication.</p>
          )}
          <Findings issues={issues} warnings={warnings} />
          <TextField
            label="Requests a minute"
            hint="For this agent in all. Empty: only the limits of the tenant and its keys."
            type="number"
            min={1}
            problem={problemOf(error, 'config.rate_limit')}
            value={rate}
            onChange={({ target }) => setRate(target.value)}
          />
          <FormProblem error={error} fields={['config.rate_limit']} />
          <div className="flex justify-end gap-2">
            <Button disabled={isPending} onClick={onClose}>
              Not now
            </Button>
            <Button kind="primary" disabled={!valid} busy={isPending} onClick={() => mutate()}>
              Publish
            </Button>
          </div>
        </div>
      )}
    </Loaded>
  );
}
