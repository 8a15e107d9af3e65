import { useMutation } from '@tanstack/react-query';
import { createLazyRoute, Link, useRouter } from '@tanstack/react-router';
import { signIn } from '../../session/session';
import { textIn } from '../../ui/form-data';
import { Button } from '../../ui/button';
import { FormProblem, TextField } from '../../ui/field';
import { canUseIssuer, goToIssuer } from './issuer';
import { SignedOutPage } from './signed-out-page';
import { useWays } from './ways';

export const Route = createLazyRoute('/sign-in')({ component: SignIn });

function SignIn() {
  const { next } = Route.useSearch();
  const router = useRouter();
  const ways = useWays();
  const issuer = ways.data?.oidc;
  const attempt = useMutation({
    mutationFn: (form: FormData) =>
      signIn({ email: textIn(form, 'email'), password: textIn(form, 'password') }),
    onSuccess: () => router.history.replace(next ?? '/'),
  });
  return (
    <SignedOutPage title="Sign in">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          attempt.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField label="E-mail" name="email" type="email" autoComplete="username" required />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
        />
        <FormProblem error={attempt.error} />
        <Button kind="primary" type="submit" busy={attempt.isPending}>
          Sign in
        </Button>
      </form>
      {issuer !== null && issuer !== undefined && canUseIssuer && (
        <Button className="mt-3 w-full" onClick={() => void goToIssuer(issuer, next)}>
          Sign in with {new URL(issuer.authorization_endpoint).hostname}
        </Button>
      )}
      <p className="mt-4 flex flex-wrap justify-between gap-2 text-sm">
        <Link to="/forgot-password" className="text-accent underline">
          Forgot the password?
        </Link>
        {ways.data !== undefined && ways.data.registration !== 'closed' && (
          <Link to="/register" className="text-accent underline">
            Register
          </Link>
        )}
        <Link to="/operator" className="text-muted underline">
          Operator
        </Link>
      </p>
    </SignedOutPage>
  );
}
