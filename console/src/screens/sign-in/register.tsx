import { createLazyRoute, Link, useRouter } from '@tanstack/react-router';
import { api, take } from '../../api/client';
import { signIn } from '../../session/session';
import type { FieldSpecs, ValuesOf } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { SignedOutPage } from './signed-out-page';
import { useWays } from './ways';

export const Route = createLazyRoute('/register')({ component: Register });

const fields = {
  email: { kind: 'text', type: 'email', label: 'E-mail', autoComplete: 'username', required: true },
  password: {
    kind: 'text',
    type: 'password',
    label: 'Password',
    autoComplete: 'new-password',
    minLength: 10,
    maxLength: 512,
    required: true,
    hint: 'At least 10 characters.',
  },
  name: { kind: 'text', label: 'Your name', autoComplete: 'name' },
  tenant_name: {
    kind: 'text',
    label: 'Name of your tenant',
    autoComplete: 'organization',
    hint: 'Your company or project. You can change it later.',
  },
} as const satisfies FieldSpecs;

/** The registration answers a refresh token, which moves into the cookie at once and is used up. */
async function register({ email, password, name, tenant_name }: ValuesOf<typeof fields>): Promise<unknown> {
  const { data } = await take(
    api.POST('/api/auth/register', {
      body: {
        email,
        password,
        ...(name !== '' && { name }),
        ...(tenant_name !== '' && { tenant_name }),
      },
    }),
  );
  return signIn({ refresh_token: data.refresh_token });
}

function Register() {
  const router = useRouter();
  const ways = useWays();
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
      {ways.data?.registration === 'invite' && (
        <p className="mb-4 text-sm text-muted">Only addresses with an invitation may register here.</p>
      )}
      <Form
        fields={fields}
        asks={false}
        verb="Register"
        submit={async (values) => {
          await register(values);
          router.history.replace('/');
        }}
      />
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
