import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { failed, succeeded } from '../../ui/toasts';
import { DenyDialog } from './deny-dialog';
import { useConsumersChanged } from './use-consumer-events';

/** Puts a person on the denylist of the tenant, or takes the person off. */
export function DenyButton({
  consumerKey,
  blocked,
}: {
  readonly consumerKey: string;
  readonly blocked: boolean;
}) {
  const allowed = useAllowed('telemetry:write');
  const [asking, setAsking] = useState(false);
  const changed = useConsumersChanged(consumerKey);
  const allowing = useMutation({
    mutationFn: () =>
      take(api.DELETE('/api/v1/consumers/{key}/deny', { params: { path: { key: consumerKey } } })),
    onSuccess: () => {
      succeeded('The person is served again');
      changed();
    },
    onError: (error) => failed('The denylist was not changed', error),
  });
  if (!allowed) return null;
  if (blocked) {
    return (
      <Button busy={allowing.isPending} onClick={() => allowing.mutate()}>
        Allow again
      </Button>
    );
  }
  return (
    <>
      <Button onClick={() => setAsking(true)}>Deny</Button>
      {asking && <DenyDialog consumerKey={consumerKey} onClose={() => setAsking(false)} />}
    </>
  );
}
