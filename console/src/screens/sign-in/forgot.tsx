import { createLazyRoute, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { SignedOutPage } from './signed-out-page';

export const Route = createLazyRoute('/forgot-password')({ component: Forgot });

const fields = {
  email: {
    kind: 'text',
    type: 'email',
    label: 'E-mail',
    autoComplete: 'username',
    required: true,
    hint: 'You get a mail with a link to choose a new password.',
  },
} as const satisfies FieldSpecs;

/** The mail leads to `/reset`, where a new password is set. */
function Forgot() {
  const [answer, setAnswer] = useState<string>();
  return (
    <SignedOutPage title="Choose a new password">
      {answer === undefined ? (
        <Form
          fields={fields}
          asks={false}
          verb="Send the mail"
          submit={async (body) => {
            setAnswer((await take(api.POST('/api/auth/password/forgot', { body }))).message);
          }}
        />
      ) : (
        <p role="status" className="text-sm">
          {answer}
        </p>
      )}
      <p className="mt-4 text-sm">
        <Link to="/sign-in" className="text-accent underline">
          Back to the sign-in
        </Link>
      </p>
    </SignedOutPage>
  );
}
