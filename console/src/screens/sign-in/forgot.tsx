import { useMutation } from '@tanstack/react-query';
import { createLazyRoute, Link } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { FormProblem, TextField } from '../../ui/field';
import { textIn } from '../../ui/form-data';
import { SignedOutPage } from './signed-out-page';

export const Route = createLazyRoute('/forgot-password')({ component: Forgot });

/** The mail leads to `/reset`, where a new password is set. */
function Forgot() {
  const request = useMutation({
    mutationFn: (form: FormData) =>
      take(api.POST('/api/auth/password/forgot', { body: { email: textIn(form, 'email') } })),
  });
  return (
    <SignedOutPage title="Choose a new password">
      {request.isSuccess ? (
        <p role="status" className="text-sm">
          {request.data.message}
        </p>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            request.mutate(new FormData(event.currentTarget));
          }}
        >
          <TextField
            label="E-mail"
            name="email"
            type="email"
            autoComplete="username"
            required
            hint="You get a mail with a link to choose a new password."
          />
          <FormProblem error={request.error} />
          <Button kind="primary" type="submit" busy={request.isPending}>
            Send the mail
          </Button>
        </form>
      )}
      <p className="mt-4 text-sm">
        <Link to="/sign-in" className="text-accent underline">
          Back to the sign-in
        </Link>
      </p>
    </SignedOutPage>
  );
}
