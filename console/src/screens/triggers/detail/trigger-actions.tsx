import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../../api/client';
import { performDeletion, queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { failed, succeeded } from '../../../ui/toasts';
import type { Trigger } from '../types';

export function TriggerActions({ trigger: { id, name, enabled } }: { readonly trigger: Trigger }) {
  const [isDeleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const [listKey, key] = [useKey('triggers'), useKey('triggers', id)];
  const mayUpdate = useAllowed('triggers:update');
  const mayDelete = useAllowed('triggers:delete');
  const params = { params: { path: { id } } };
  const toggle = useMutation({
    mutationFn: () =>
      take(
        enabled
          ? api.POST('/api/triggers/{id}/disable', params)
          : api.POST('/api/triggers/{id}/enable', params),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: listKey }),
    onError: (error) => failed('Switching failed', error),
  });
  return (
    <>
      {mayUpdate && (
        <Button busy={toggle.isPending} onClick={() => toggle.mutate()}>
          {enabled ? 'Switch off' : 'Switch on'}
        </Button>
      )}
      {mayDelete && (
        <Button kind="dangerous" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      )}
      <Confirm
        open={isDeleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${name}?`}
        verb="Delete"
        action={async () => {
          await performDeletion({ deleted: [key], lists: [listKey] }, async () => {
            await take(api.DELETE('/api/triggers/{id}', params));
            await navigate({ to: '/triggers' });
          });
          succeeded(`${name} was deleted`);
        }}
      >
        Its address stops working at once. Conversations that it started stay.
      </Confirm>
    </>
  );
}
