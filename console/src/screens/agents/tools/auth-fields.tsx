import { useId } from 'react';
import { useSecretNames } from '../../../api/secret-names';
import { SelectField, TextField } from '../../../ui/field';
import type { TypeFormProps } from './type-forms';

const types = [
  ['none', 'none'],
  ['bearer', 'Bearer token'],
  ['basic', 'User and password'],
  ['api_key', 'Key in a header'],
] as const;

/** How the tool proves itself. The value stays in the vault; here is only its name. */
export function AuthFields({ draft: { auth }, change, problem }: TypeFormProps) {
  const list = useId();
  const names = useSecretNames();
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <SelectField
        label="Authentication"
        options={types}
        value={auth.type}
        onChange={({ target }) => change({ auth: { ...auth, type: target.value } })}
      />
      {auth.type !== 'none' && (
        <TextField
          label="Secret"
          list={list}
          hint={auth.type === 'basic' ? 'Its value is user:password.' : 'The name of a secret in the vault.'}
          problem={problem('auth.secret_ref') ?? problem('auth.vault_secret_id') ?? problem('auth')}
          value={auth.secret}
          onChange={({ target }) => change({ auth: { ...auth, secret: target.value } })}
          autoComplete="off"
          required
        />
      )}
      {auth.type === 'api_key' && (
        <TextField
          label="Header"
          placeholder="X-Api-Key"
          problem={problem('auth.header')}
          value={auth.header}
          onChange={({ target }) => change({ auth: { ...auth, header: target.value } })}
        />
      )}
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </div>
  );
}
