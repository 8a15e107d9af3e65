import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, TextField } from '../../ui/field';
import { count } from '../../ui/numbers';
import { succeeded } from '../../ui/toasts';
import { useConsumersChanged } from './use-consumer-events';

/** Asks for the key, because nothing brings an erased person back. */
export function EraseDialog({
  consumerKey,
  onClose,
}: {
  readonly consumerKey: string;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const changed = useConsumersChanged(consumerKey);
  const erasing = useMutation({
    mutationFn: () => take(api.DELETE('/api/v1/consumers/{key}', { params: { path: { key: consumerKey } } })),
    onSuccess: ({ data: { sessions, messages } }) => {
      succeeded('The person was erased', `${count(sessions)} conversations and ${count(messages)} messages.`);
      void navigate({ to: '/consumers' }).then(changed);
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Erase this person"
      description="All conversations, messages, executions and what agents remember are deleted. Nothing brings them back. A denial stays in force."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          erasing.mutate();
        }}
      >
        <TextField
          label={`Write ${consumerKey} to confirm`}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <FormProblem error={erasing.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep</Button>
          <Button type="submit" kind="danger" busy={erasing.isPending} disabled={text !== consumerKey}>
            Erase
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
