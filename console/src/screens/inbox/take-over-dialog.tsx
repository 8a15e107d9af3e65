import { useMutation } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, problemOf, SelectField, TextField } from '../../ui/field';
import { textIn } from '../../ui/form-data';

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
  const changing = useMutation({
    mutationFn: (form: FormData) => {
      const span = textIn(form, 'span');
      const reason = textIn(form, 'reason').trim();
      const request = {
        params: { path: { id: sessionId } },
        body: {
          ...(reason !== '' && { reason }),
          ...(span !== '' && { expires_in_seconds: Number(span) }),
        },
      };
      return take(
        verb === 'handoff'
          ? api.POST('/api/v1/sessions/{id}/handoff', request)
          : api.POST('/api/v1/sessions/{id}/suspend', request),
      );
    },
    onSuccess: () => {
      changed();
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={text.title} description={text.description}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          changing.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField
          label="Reason"
          name="reason"
          maxLength={1_000}
          hint="Shown to your team; may be left out."
          problem={problemOf(changing.error, 'reason')}
        />
        <SelectField label="For how long" name="span" options={spans} />
        <FormProblem error={changing.error} fields={['reason']} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep</Button>
          <Button type="submit" kind="primary" busy={changing.isPending}>
            {text.verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
