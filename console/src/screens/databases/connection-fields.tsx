import { useSecretNames } from '../../api/secret-names';
import { CheckField } from '../../ui/check-field';
import { FormProblem, problemOf, SelectField, TextArea, TextField } from '../../ui/field';
import { type ConnectionDraft, fieldNames, type PasswordFrom } from './connection-draft';
import { TablePicker } from './table-picker';

interface FieldsProps {
  readonly draft: ConnectionDraft;
  readonly setDraft: (next: (before: ConnectionDraft) => ConnectionDraft) => void;
  readonly error: unknown;
  /** A stored password can be kept. */
  readonly isStored?: boolean;
}

/** The problem of one field: of the body that stores it, or of the trial, whose fields have no place before them. */
const problem = (error: unknown, field: keyof typeof fieldNames): string | undefined =>
  problemOf(error, fieldNames[field]) ?? problemOf(error, fieldNames[field].replace(/^.*\./, ''));

export function ConnectionFields(props: FieldsProps) {
  const { draft, setDraft, error } = props;
  const set = (part: Partial<ConnectionDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const field = (name: 'name' | 'host' | 'port' | 'database' | 'username') => ({
    name,
    value: draft[name],
    required: true,
    autoComplete: 'off',
    spellCheck: false,
    onChange: ({ target }: { readonly target: HTMLInputElement }) => set({ [name]: target.value }),
    problem: problem(error, name),
  });
  return (
    <>
      <TextField label="Name" {...field('name')} />
      <TextArea
        label="Description"
        value={draft.description}
        onChange={({ target }) => set({ description: target.value })}
        problem={problem(error, 'description')}
      />
      <div className="grid items-start gap-3 sm:grid-cols-[1fr_7rem]">
        <TextField label="Host" {...field('host')} />
        <TextField label="Port" inputMode="numeric" {...field('port')} />
      </div>
      <div className="grid items-start gap-3 sm:grid-cols-2">
        <TextField label="Database" {...field('database')} />
        <TextField label="User" {...field('username')} hint="Give it the right to read, and no more." />
      </div>
      <CheckField
        label="Encrypt the connection"
        hint="TLS with a certificate that is valid for the host."
        checked={draft.ssl}
        onChange={({ target }) => set({ ssl: target.checked })}
      />
      <Password {...props} set={set} />
      <Tables {...props} set={set} />
      <CheckField
        label="Active"
        hint="Triggers of a paused database read nothing."
        checked={draft.isActive}
        onChange={({ target }) => set({ isActive: target.checked })}
      />
      <CheckField
        label="Primary"
        hint="The one that is meant where none is named. It takes the place of the present one."
        checked={draft.isPrimary}
        onChange={({ target }) => set({ isPrimary: target.checked })}
      />
      <FormProblem
        error={error}
        fields={Object.values(fieldNames).flatMap((name) => [name, name.replace(/^.*\./, '')])}
      />
    </>
  );
}

type Part = FieldsProps & { readonly set: (part: Partial<ConnectionDraft>) => void };

const sources: readonly (readonly [PasswordFrom, string])[] = [
  ['secret', 'A secret of the tenant'],
  ['password', 'Written here, stored encrypted'],
];

function Password({ draft, error, isStored = false, set }: Part) {
  const names = useSecretNames();
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2">
      <SelectField
        label="Password from"
        value={draft.passwordFrom}
        onChange={({ target }) => set({ passwordFrom: target.value as PasswordFrom })}
        options={isStored ? [['kept', 'The stored one, which stays hidden'], ...sources] : sources}
      />
      {draft.passwordFrom === 'secret' && (
        <>
          <TextField
            label="Secret"
            list="secret-names"
            required
            autoComplete="off"
            value={draft.secret}
            onChange={({ target }) => set({ secret: target.value })}
            problem={problem(error, 'secret')}
          />
          <datalist id="secret-names">
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </datalist>
        </>
      )}
      {draft.passwordFrom === 'password' && (
        <TextField
          label="Password"
          type="password"
          name="password"
          required
          autoComplete="new-password"
          value={draft.password}
          onChange={({ target }) => set({ password: target.value })}
          hint="It is not shown again."
          problem={problem(error, 'password')}
        />
      )}
    </div>
  );
}

function Tables({ draft, error, set }: Part) {
  return (
    <>
      <CheckField
        label="Only some tables"
        hint="Otherwise all but the system's can be read."
        checked={draft.onlySome}
        onChange={({ target }) => set({ onlySome: target.checked })}
      />
      {draft.onlySome && (
        <div className="flex flex-col gap-2 border-l-2 border-line pl-3">
          <TextArea
            label="Tables"
            className="min-h-24 font-mono"
            spellCheck={false}
            value={draft.tables}
            onChange={({ target }) => set({ tables: target.value })}
            hint="One a line, as schema.table."
            problem={problem(error, 'tables')}
          />
          <TablePicker draft={draft} set={set} />
        </div>
      )}
    </>
  );
}
