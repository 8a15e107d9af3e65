import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { type Written, useDraft } from '../../ui/form/draft';
import { isSame } from '../../ui/form/rebased';
import { Card, Facts } from '../../ui/page';
import { Time } from '../../ui/time';
import { succeeded } from '../../ui/toasts';
import { bodyOf, type ConnectionDraft, draftOf, trialOf } from './connection-draft';
import { ConnectionFields } from './connection-fields';
import type { Database } from './database-data';
import { Trial } from './trial';

/** Where the database is. People who may not change it see the same without the form. */
export function Connection({ database }: { readonly database: Database }) {
  return useAllowed('databases:update') ? (
    <EditConnection database={database} />
  ) : (
    <ConnectionFacts database={database} />
  );
}

function ConnectionFacts({ database }: { readonly database: Database }) {
  const {
    host,
    port,
    database: name,
    username,
    ssl,
    password_secret_ref: secret,
  } = database.connection_config;
  return (
    <Card>
      <Facts
        facts={[
          ['Description', database.description === '' ? '—' : database.description],
          ['Host', `${host}:${port}`],
          ['Database', name],
          ['User', username],
          ['Password', secret === undefined ? '•••••••• (stored encrypted)' : `secret ${secret}`],
          ['Encrypted', ssl ? 'yes' : 'no'],
          ['Tables', database.settings.allowed_tables?.join(', ') ?? "all but the system's"],
          ['Changed', <Time key="changed" at={database.updated_at} exactly />],
        ]}
      />
    </Card>
  );
}

function EditConnection({ database }: { readonly database: Database }) {
  const { id } = database;
  const key = useKey('databases');
  const { written, change: setDraft, discard, settle } = useDraft(draftOf(database));
  const { base, draft } = written;
  const change = useMutation({
    mutationFn: (sent: Written<ConnectionDraft>) =>
      take(api.PATCH('/api/database-configs/{id}', { params: { path: { id } }, body: bodyOf(sent.draft) })),
    onSuccess: async ({ data }, sent) => {
      settle(sent, draftOf(data));
      // A password that was written on is not saved yet.
      setDraft((now) =>
        now.passwordFrom === 'kept' && now.password !== '' ? { ...now, passwordFrom: 'password' } : now,
      );
      await queries.invalidateQueries({ queryKey: key });
      succeeded('The database was changed', sent.draft.name);
    },
  });
  const isChanged = !isSame(draft, base);
  const trial = isChanged ? trialOf(draft) : undefined;
  return (
    <Card>
      <form
        className="flex max-w-2xl flex-col gap-3"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          change.mutate(written);
        }}
      >
        <ConnectionFields
          draft={draft}
          setDraft={setDraft}
          error={change.error}
          isStored={isKept(database)}
        />
        <div className="flex flex-wrap items-center gap-3 border-t border-line pt-3">
          <Button kind="primary" type="submit" disabled={!isChanged} busy={change.isPending}>
            Save
          </Button>
          {isChanged && <Button onClick={discard}>Discard</Button>}
          <Trial
            of={trial ?? base}
            ask={() =>
              take(
                trial === undefined
                  ? api.POST('/api/database-configs/{id}/test', { params: { path: { id } } })
                  : api.POST('/api/db/test-postgres', { body: trial }),
              )
            }
          />
        </div>
        {isChanged && trial === undefined && (
          <p className="text-xs text-muted">
            The test uses what is stored. To try a change before you save it, give the password again.
          </p>
        )}
      </form>
    </Card>
  );
}

/** A password without a name, or a secret that is named by its id. */
const isKept = ({ connection_config: { password_secret_ref: secret } }: Database): boolean =>
  secret === undefined;
