import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { reloadSession } from '../../session/session';
import { useAllowed, useTenant } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { Card } from '../../ui/page';
import { succeeded } from '../../ui/toasts';

const fieldsFor = (name: string) =>
  ({
    confirm: {
      kind: 'text',
      label: `Write ${name} to confirm`,
      autoComplete: 'off',
      required: true,
      equals: name,
    },
  }) as const satisfies FieldSpecs;

/** Owners alone; the API knows no way back. */
export function DeleteTenant() {
  const { id, name } = useTenant();
  const router = useRouter();
  const [isAsking, setAsking] = useState(false);
  if (!useAllowed('tenants:delete')) return null;
  return (
    <Card title="Delete the tenant">
      <div className="flex flex-col items-start gap-3 text-sm">
        <p>
          Conversations, agents, keys, secrets and all records of the tenant are deleted for everybody. From
          that moment no key and no trigger works, and running turns are cancelled. Nothing brings it back;
          export first what you need.
        </p>
        <Button kind="dangerous" onClick={() => setAsking(true)}>
          Delete the tenant
        </Button>
      </div>
      {isAsking && (
        <Dialog
          open
          onClose={() => setAsking(false)}
          title={`Delete ${name}?`}
          description="The deletion begins at once, is done within minutes, and cannot be stopped."
        >
          <Form
            fields={fieldsFor(name)}
            asks={false}
            verb="Delete for good"
            kind="danger"
            actions={<Button onClick={() => setAsking(false)}>Keep</Button>}
            submit={async (body) => {
              await take(api.DELETE('/api/tenants/{id}', { params: { path: { id } }, body }));
              succeeded(`${name} is being deleted`, 'Its rows are gone within minutes.');
              // The tenant is no longer among those of the person, so that no screen asks for it.
              await reloadSession();
              await router.navigate({ to: '/' });
            }}
          />
        </Dialog>
      )}
    </Card>
  );
}
