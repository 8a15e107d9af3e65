import { createLazyRoute, Link, useRouter } from '@tanstack/react-router';
import { signIn } from '../../session/session';
import { Button } from '../../ui/button';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { canUseIssuer, goToIssuer } from './issuer';
import { SignedOutPage } from './signed-out-page';
import { useWays } from './ways';

export const Route = createLazyRoute('/sign-in')({ component: SignIn });

const fields = {
  email: { kind: 'text', type: 'email', label: 'E-mail', autoComplete: 'username', required: true },
  password: {
    kind: 'text',
    type: 'password',
    label: 'Password',
    autoComplete: 'current-password',
    required: true,
  },
} as const satisfies FieldSpecs;

function SignIn() {
  const { next } = Route.useSearch();
  const router = useRouter();
  const ways = useWays();
  const issuer = ways.data?.oidc;
  return (
    <SignedOutPage title="Sign in">
      <Form
        fields={fields}
        asks={false}
        verb="Sign in"
        submit={async (values) => {
          await signIn(values);
          router.history.replace(next ?? '/');
        }}
      />
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
