import { useMutation } from '@tanstack/react-query';
import { createLazyRoute, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { isSame } from '../../ui/form/rebased';
import { Card, Page } from '../../ui/page';
import { Forbidden } from '../../ui/states';
import { succeeded } from '../../ui/toasts';
import { useUnsaved } from '../../ui/unsaved';
import { bodyOf, emptyDraft, trialOf } from './connection-draft';
import { ConnectionFields } from './connection-fields';
import { Trial } from './trial';

export const Route = createLazyRoute('/frame/databases/new')({ component: NewDatabase });

function NewDatabase() {
  const navigate = useNavigate();
  const listKey = useKey('databases');
  const [draft, setDraft] = useState(emptyDraft);
  const creation = useMutation({
    mutationFn: () => take(api.POST('/api/database-configs', { body: bodyOf(draft) })),
    onSuccess: async ({ data }) => {
      await queries.invalidateQueries({ queryKey: listKey });
      succeeded('The database was connected', data.name);
      await navigate({ to: '/databases/$databaseId', params: { databaseId: data.id } });
    },
  });
  useUnsaved(!isSame(draft, emptyDraft) && !creation.isPending);
  if (!useAllowed('databases:create')) {
    return (
      <Page title="Connect a database">
        <Forbidden what="the form for databases" />
      </Page>
    );
  }
  return (
    <Page title="Connect a database" description="Troupe reads it over connections that cannot write.">
      <Card>
        <form
          className="flex max-w-2xl flex-col gap-3"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            creation.mutate();
          }}
        >
          <ConnectionFields draft={draft} setDraft={setDraft} error={creation.error} />
          <div className="flex flex-wrap items-center gap-3 border-t border-line pt-3">
            <Button kind="primary" type="submit" busy={creation.isPending}>
              Connect
            </Button>
            <Trial
              of={trialOf(draft)}
              ask={() => take(api.POST('/api/db/test-postgres', { body: trialOf(draft)! }))}
            />
          </div>
        </form>
      </Card>
    </Page>
  );
}
