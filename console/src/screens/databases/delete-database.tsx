import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { performDeletion, useKey } from '../../api/queries';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { succeeded } from '../../ui/toasts';
import { type Database, useUses } from './database-data';

export function DeleteDatabase({ database: { id, name } }: { readonly database: Database }) {
  const [asked, setAsked] = useState(false);
  const navigate = useNavigate();
  const [listKey, key] = [useKey('databases'), useKey('databases', id)];
  const { data: uses = [] } = useUses(id);
  return (
    <>
      <Button kind="dangerous" onClick={() => setAsked(true)}>
        Delete
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={`Delete ${name}?`}
        verb={uses.length > 0 ? 'Delete although it is used' : 'Delete'}
        action={async () => {
          await performDeletion({ deleted: [key], lists: [listKey] }, async () => {
            await take(api.DELETE('/api/database-configs/{id}', { params: { path: { id } } }));
            await navigate({ to: '/databases' });
          });
          succeeded('The database was deleted', name);
        }}
      >
        {uses.length === 0
          ? 'Its connection and its password are erased. The database itself stays as it is.'
          : `${uses.length} ${uses.length === 1 ? 'trigger reads' : 'triggers read'} it and will fail without it: ${uses
              .slice(0, 5)
              .map((use) => use.name)
              .join(', ')}.`}
      </Confirm>
    </>
  );
}
