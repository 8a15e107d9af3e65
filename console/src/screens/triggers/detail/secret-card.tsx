import { useState } from 'react';
import { api, take } from '../../../api/client';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { Code } from '../../../ui/json-view';
import { Card } from '../../../ui/page';
import { Time } from '../../../ui/time';

interface Rotated {
  readonly webhook_secret?: string;
  readonly webhook_secret_ref?: string;
  readonly former_valid_until: string;
}

/** The secret itself was shown at the creation; here it is replaced. */
export function SecretCard({ triggerId }: { readonly triggerId: string }) {
  const [isAsking, setAsking] = useState(false);
  const [rotated, setRotated] = useState<Rotated>();
  if (!useAllowed('secrets:write')) return null;
  return (
    <Card title="Webhook secret" actions={<Button onClick={() => setAsking(true)}>Replace</Button>}>
      {rotated === undefined ? (
        <p className="text-sm text-muted">
          It was shown when the trigger was made, and is shown to nobody again.
        </p>
      ) : (
        <div className="flex flex-col gap-2">
          <p className="text-sm text-warn">
            The new secret is shown only now. The former one is valid until{' '}
            <Time at={rotated.former_valid_until} exactly />.
          </p>
          <Code text={rotated.webhook_secret ?? rotated.webhook_secret_ref ?? ''} label="secret" />
        </div>
      )}
      <Confirm
        open={isAsking}
        onClose={() => setAsking(false)}
        title="Replace the webhook secret?"
        verb="Replace"
        danger={false}
        action={async () => {
          const { data } = await take(
            api.POST('/api/triggers/{id}/rotate-secret', {
              params: { path: { id: triggerId } },
              body: { grace_seconds: 3_600 },
            }),
          );
          setRotated(data);
        }}
      >
        The former secret stays valid for an hour, so that senders can change theirs.
      </Confirm>
    </Card>
  );
}
