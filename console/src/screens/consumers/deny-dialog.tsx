import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { succeeded } from '../../ui/toasts';
import { useConsumersChanged } from './use-consumer-events';

const who = {
  key: {
    kind: 'text',
    label: 'Consumer key',
    required: true,
    maxLength: 255,
    hint: 'The number, address or key that the integration names the person with.',
  },
} as const satisfies FieldSpecs;

const why = {
  reason: { kind: 'text', label: 'Reason', maxLength: 1_000, hint: 'Shown to your team; may be left out.' },
} as const satisfies FieldSpecs;

/** Without a key it asks for one: people who were never seen can be denied too. */
export function DenyDialog({
  consumerKey,
  onClose,
}: {
  readonly consumerKey?: string;
  readonly onClose: () => void;
}) {
  const changed = useConsumersChanged(consumerKey ?? '');
  return (
    <Dialog
      open
      onClose={onClose}
      title={consumerKey === undefined ? 'Deny a person' : `Deny ${consumerKey}`}
      description="No agent of the tenant answers the person any more, on every node within a second."
    >
      <Form
        fields={consumerKey === undefined ? { ...who, ...why } : why}
        verb="Deny"
        kind="danger"
        actions={<Button onClick={onClose}>Keep</Button>}
        submit={async (values: { readonly key?: string; readonly reason: string }) => {
          const reason = values.reason.trim();
          const path = { key: consumerKey ?? values.key?.trim() ?? '' };
          const { data } = await take(
            api.POST('/api/v1/consumers/{key}/deny', {
              params: { path },
              body: reason === '' ? {} : { reason },
            }),
          );
          succeeded(`${data.display_name ?? data.consumer_key} is denied`);
          changed();
          onClose();
        }}
      />
    </Dialog>
  );
}
