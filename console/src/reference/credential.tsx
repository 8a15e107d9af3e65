import { useState } from 'react';
import { session, signOut } from '../session/session';
import { Value, useValue } from '../session/value';
import { Button, buttonClass } from '../ui/button';
import { SelectField, TextField } from '../ui/field';
import { switchTenant } from '../session/session';

/** A key or token that a person pasted. It is in this module's memory alone and gone with the page. */
export const pasted = new Value<string>('');

/** The credential that requests of this page carry: a pasted key, else the sign-in of this browser. */
export function CredentialBox() {
  const present = useValue(session);
  const key = useValue(pasted);
  const [draft, setDraft] = useState('');
  return (
    <div className="flex flex-col gap-3 rounded-md border border-line p-3">
      <p className="text-sm" role="status">
        {key !== '' ? (
          <>The pasted key is used. It is not kept when you leave this page.</>
        ) : present === null ? (
          <>
            You are not signed in.{' '}
            <a className="text-accent underline" href="/sign-in" target="_blank" rel="noopener">
              Sign in in another tab
            </a>
            , or paste a key.
          </>
        ) : (
          <>Signed in as {present.user.email}.</>
        )}
      </p>
      {key === '' && present !== null && present.tenants.length > 1 && (
        <SelectField
          label="Tenant"
          value={present.tenantId ?? ''}
          onChange={({ target }) => switchTenant(target.value)}
          options={present.tenants.map(({ id, name }) => [id, name] as const)}
        />
      )}
      {key === '' ? (
        <form
          className="flex items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            pasted.set(draft.trim());
            setDraft('');
          }}
        >
          <div className="min-w-0 flex-1">
            <TextField
              label="API key or access token"
              type="password"
              autoComplete="off"
              value={draft}
              onChange={({ target }) => setDraft(target.value)}
            />
          </div>
          <Button type="submit" disabled={draft.trim() === ''}>
            Use
          </Button>
        </form>
      ) : (
        <button type="button" className={buttonClass()} onClick={() => pasted.set('')}>
          Forget the key
        </button>
      )}
      {key === '' && present !== null && (
        <button
          type="button"
          className={buttonClass('quiet')}
          onClick={() => void signOut().catch(() => undefined)}
        >
          Sign out
        </button>
      )}
    </div>
  );
}

const keyForm = /^svc_(?:live|test|dev)_/;

/** The headers of the pasted credential. */
export function pastedHeaders(key: string): Readonly<Record<string, string>> {
  if (key === '') return {};
  return keyForm.test(key) ? { 'X-Api-Key': key } : { Authorization: `Bearer ${key}` };
}
