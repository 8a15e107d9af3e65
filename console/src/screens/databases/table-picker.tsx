import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { Button } from '../../ui/button';
import { FormProblem, inputClass } from '../../ui/field';
import { count } from '../../ui/numbers';
import { type ConnectionDraft, tablesIn, trialOf } from './connection-draft';

const shownMax = 200;

/** The tables that the connection can see, to choose from. */
export function TablePicker({
  draft,
  set,
}: {
  readonly draft: ConnectionDraft;
  readonly set: (part: Partial<ConnectionDraft>) => void;
}) {
  const [text, setText] = useState('');
  const given = trialOf(draft);
  const discovery = useMutation({
    mutationFn: () =>
      // Those that are not chosen yet too.
      take(api.POST('/api/db/discover-postgres-schema', { body: { ...given!, allowed_tables: null } })),
  });
  if (given === undefined) {
    return <p className="text-xs text-muted">To choose from a list, give the password again.</p>;
  }
  const chosen = new Set(tablesIn(draft));
  const found = (discovery.data?.schemas ?? [])
    .flatMap(({ tables, views }) => [
      ...tables.map(({ full_name: name, row_count: rows }) => ({ name, rows })),
      ...views.map(({ full_name: name }) => ({ name, rows: undefined })),
    ])
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  const choose = (name: string, isChosen: boolean): void => {
    const names = isChosen ? [...chosen, name] : [...chosen].filter((one) => one !== name);
    set({ tables: names.join('\n') });
  };
  return (
    <>
      <Button className="self-start" busy={discovery.isPending} onClick={() => discovery.mutate()}>
        List the tables
      </Button>
      <FormProblem error={discovery.error} />
      {discovery.data !== undefined && (
        <fieldset className="flex min-w-0 flex-col gap-2">
          <legend className="sr-only">Tables of the database</legend>
          <input
            type="search"
            aria-label="Find a table"
            placeholder="Find a table"
            className={inputClass}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <ul className="max-h-60 overflow-y-auto rounded-md border border-line text-sm">
            {found.slice(0, shownMax).map(({ name, rows }) => (
              <li key={name} className="border-b border-line last:border-0">
                <label className="flex items-center gap-2 px-2 py-1 hover:bg-hover">
                  <input
                    type="checkbox"
                    aria-label={name}
                    className="size-4 shrink-0 accent-accent"
                    checked={chosen.has(name)}
                    onChange={({ target }) => choose(name, target.checked)}
                  />
                  <span className="min-w-0 flex-1 font-mono wrap-anywhere">{name}</span>
                  <span className="text-xs text-muted">
                    {rows === undefined ? 'view' : `about ${count(rows)} rows`}
                  </span>
                </label>
              </li>
            ))}
          </ul>
          <p role="status" className="text-xs text-muted">
            {found.length === 0
              ? 'No table is called so.'
              : found.length > shownMax
                ? `${count(shownMax)} of ${count(found.length)} tables. Write a part of the name.`
                : `${count(found.length)} tables and views.`}
          </p>
        </fieldset>
      )}
    </>
  );
}
