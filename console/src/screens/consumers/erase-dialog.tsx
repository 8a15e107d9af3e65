import { useNavigate } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form/form';
import { count } from '../../ui/numbers';
import { succeeded } from '../../ui/toasts';
import { useConsumerErasure } from './use-consumer-events';

/** Asks for the key, because nothing brings an erased person back. */
export function EraseDialog({
  consumerKey,
  onClose,
}: {
  readonly consumerKey: string;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const erase = useConsumerErasure(consumerKey);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Erase this person"
      description="All conversations, messages, executions and what agents remember are deleted. Nothing brings them back. A denial stays in force."
    >
      <Form
        fields={{
          confirm: {
            kind: 'text',
            label: `Write ${consumerKey} to confirm`,
            autoComplete: 'off',
            required: true,
            equals: consumerKey,
          },
        }}
        asks={false}
        verb="Erase"
        kind="danger"
        actions={<Button onClick={onClose}>Keep</Button>}
        submit={() =>
          erase(async () => {
            const path = { key: consumerKey };
            const { data } = await take(api.DELETE('/api/v1/consumers/{key}', { params: { path } }));
            const { sessions, messages } = data;
            succeeded(
              'The person was erased',
              `${count(sessions)} conversations and ${count(messages)} messages.`,
            );
            await navigate({ to: '/consumers' });
          })
        }
      />
    </Dialog>
  );
}
