import { useMutation } from '@tanstack/react-query';
import { createLazyRoute, Link, useRouter } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { signIn } from '../../session/session';
import { Button } from '../../ui/button';
import { FormProblem, problemOf, TextField } from '../../ui/field';
import { textIn } from '../../ui/form-data';
import { SignedOutPage } from './signed-out-page';
import { useWays } from './ways';

export const Route = createLazyRoute('/register')({ component: Register });

const fields = ['email', 'password', 'name', 'tenant_name'];

/** The registration answers a refresh token, which moves into the cookie at once and is used up. */
async function register(form: FormData): Promise<unknown> {
  const [name, tenant] = [textIn(form, 'name'), textIn(form, 'tenant_name')];
  const { data } = await take(
    api.POST('/api/auth/register', {
      body: {
        email: textIn(form, 'email'),
        password: textIn(form, 'password'),
        ...(name !== '' && { name }),
        ...(tenant !== '' && { tenant_name: tenant }),
      },
    }),
  );
  return signIn({ refresh_token: data.refresh_token });
}

function Register() {
  const router = useRouter();
  const ways = useWays();
  const attempt = useMutation({
    mutationFn: register,
    onSuccess: () => router.history.replace('/'),
  });
  if (ways.data?.registration === 'closed') {
    return (
      <SignedOutPage title="Registration is closed">
        <p className="text-sm text-muted">Ask the operator of this installation for an account.</p>
        <ToSignIn />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title="Register">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          attempt.mutate(new FormData(event.currentTarget));
        }}
      >
        {ways.data?.registration === 'invite' && (
          <p className="text-sm text-muted">Only addresses with an invitation may register here.</p>
        )}
        <TextField
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          required
          problem={problemOf(attempt.error, 'email')}
        />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={10}
          maxLength={512}
          required
          hint="At least 10 characters."
          problem={problemOf(attempt.error, 'password')}
        />
        <TextField
          label="Your name"
          name="name"
          autoComplete="name"
          problem={problemOf(attempt.error, 'name')}
        />
        <TextField
          label="Name of your tenant"
          name="tenant_name"
          autoComplete="organization"
          hint="Your company or project. You can change it later."
          problem={problemOf(attempt.error, 'tenant_name')}
        />
        <FormProblem error={attempt.error} fields={fields} />
        <Button kind="primary" type="submit" busy={attempt.isPending}>
          Register
        </Button>
      </form>
      <ToSignIn />
    </SignedOutPage>
  );
}

function ToSignIn() {
  return (
    <p className="mt-4 text-sm text-muted">
      Registered already?{' '}
      <Link to="/sign-in" className="text-accent underline">
        Sign in
      </Link>
    </p>
  );
}
