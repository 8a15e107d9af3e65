import { useMutation } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { FormProblem, problemOf, TextField } from '../../ui/field';
import { textIn } from '../../ui/form-data';
import { succeeded } from '../../ui/toasts';
import { useConsumersChanged } from './use-consumer-events';

/** Without a key it asks for one: people who were never seen can be denied too. */
export function DenyDialog({
  consumerKey,
  onClose,
}: {
  readonly consumerKey?: string;
  readonly onClose: () => void;
}) {
  const changed = useConsumersChanged(consumerKey ?? '');
  const denying = useMutation({
    mutationFn: (form: FormData) => {
      const reason = textIn(form, 'reason').trim();
      const key = consumerKey ?? textIn(form, 'key').trim();
      return take(
        api.POST('/api/v1/consumers/{key}/deny', {
          params: { path: { key } },
          body: reason === '' ? {} : { reason },
        }),
      );
    },
    onSuccess: ({ data }) => {
      succeeded(`${data.display_name ?? data.consumer_key} is denied`);
      changed();
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={consumerKey === undefined ? 'Deny a person' : `Deny ${consumerKey}`}
      description="No agent of the tenant answers the person any more, on every node within a second."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          denying.mutate(new FormData(event.currentTarget));
        }}
      >
        {consumerKey === undefined && (
          <TextField
            label="Consumer key"
            name="key"
            required
            maxLength={255}
            hint="The number, address or key that the integration names the person with."
            problem={problemOf(denying.error, 'key')}
          />
        )}
        <TextField
          label="Reason"
          name="reason"
          maxLength={1_000}
          hint="Shown to your team; may be left out."
          problem={problemOf(denying.error, 'reason')}
        />
        <FormProblem error={denying.error} fields={['reason', 'key']} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep</Button>
          <Button type="submit" kind="danger" busy={denying.isPending}>
            Deny
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
