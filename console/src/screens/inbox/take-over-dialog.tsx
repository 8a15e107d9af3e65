import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';

const texts = {
  handoff: {
    title: 'Take the conversation over',
    description: 'The agent stops at once, and a running turn says nothing more. You answer.',
    verb: 'Take over',
  },
  suspend: {
    title: 'Suspend the agent',
    description: 'The agent answers no message of this conversation until it is returned.',
    verb: 'Suspend',
  },
} as const;

const spans = [
  ['', 'Until somebody returns it'],
  ['900', '15 minutes'],
  ['3600', '1 hour'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
  ['604800', '7 days'],
] as const;

const fields = {
  reason: { kind: 'text', label: 'Reason', maxLength: 1_000, hint: 'Shown to your team; may be left out.' },
  span: { kind: 'choice', label: 'For how long', api: 'expires_in_seconds', options: spans },
} as const satisfies FieldSpecs;

export function TakeOverDialog({
  verb,
  sessionId,
  onClose,
  changed,
}: {
  readonly verb: 'handoff' | 'suspend';
  readonly sessionId: string;
  readonly onClose: () => void;
  readonly changed: () => void;
}) {
  const text = texts[verb];
  return (
    <Dialog open onClose={onClose} title={text.title} description={text.description}>
      <Form
        fields={fields}
        verb={text.verb}
        actions={<Button onClick={onClose}>Keep</Button>}
        submit={async ({ reason, span }) => {
          const request = {
            params: { path: { id: sessionId } },
            body: {
              ...(reason.trim() !== '' && { reason: reason.trim() }),
              ...(span !== '' && { expires_in_seconds: Number(span) }),
            },
          };
          await take(
            verb === 'handoff'
              ? api.POST('/api/v1/sessions/{id}/handoff', request)
              : api.POST('/api/v1/sessions/{id}/suspend', request),
          );
          changed();
          onClose();
        }}
      />
    </Dialog>
  );
}
