import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { performDeletion, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { CopyAs } from '../../ui/copy-as';
import { Dialog } from '../../ui/dialog';
import { Facts } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { failed, succeeded } from '../../ui/toasts';
import { RotateSecret } from './rotate-secret';
import { kinds, type Secret } from './secret';

/** One secret: where it is used, a new value, deletion. */
export function SecretDetails({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useQuery({
    queryKey: useKey('secrets', id),
    queryFn: ({ signal }) => take(api.GET('/api/secrets/{id}', { params: { path: { id } }, signal })),
  });
  const mayWrite = useAllowed('secrets:write');
  return (
    <Dialog open onClose={onClose} title={query.data?.data.name ?? 'Secret'}>
      <Loaded query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-4">
            <Facts
              facts={[
                ['Kind', kinds[data.kind]],
                ...(data.provider === null ? [] : ([['Vendor', data.provider]] as const)),
                ['Sent to', data.allowed_hosts?.join(', ') ?? 'any host'],
                ['Version', data.version],
                ['Stored', <Time key="stored" at={data.created_at} exactly />],
                ['Value changed', <Time key="changed" at={data.value_changed_at} exactly />],
                ...(data.previous_value_accepted_until === null
                  ? []
                  : ([
                      [
                        'Previous until',
                        <Time key="until" at={data.previous_value_accepted_until} exactly />,
                      ],
                    ] as const)),
              ]}
            />
            <UsedBy secret={data} />
            {mayWrite && <RotateSecret id={id} />}
            <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
              <CopyAs
                request={{
                  method: 'GET',
                  path: `/api/secrets/${id}`,
                  mcp: { tool: 'get_secret', arguments: { secret_id: id } },
                }}
              />
              {mayWrite && data.kind === 'llm_key' && <TestKey id={id} />}
              {mayWrite && <DeleteSecret secret={data} onDeleted={onClose} />}
            </div>
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}

function UsedBy({ secret: { references } }: { readonly secret: Secret }) {
  return (
    <section aria-label="Used by">
      <h3 className="text-sm font-semibold">Used by</h3>
      {references.length === 0 ? (
        <p className="text-sm text-muted">Nothing uses it. It can be deleted.</p>
      ) : (
        <ul className="mt-1 divide-y divide-line rounded-md border border-line text-sm">
          {references.map(({ type, id, name }) => (
            <li key={`${type} ${id}`} className="flex gap-2 px-3 py-1.5">
              <span className="text-muted">{type}</span>
              <span className="min-w-0 wrap-anywhere">{name}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function TestKey({ id }: { readonly id: string }) {
  const [busy, setBusy] = useState(false);
  const ask = (): void => {
    setBusy(true);
    take(api.POST('/api/secrets/{id}/test', { params: { path: { id } } }))
      .then(
        ({ data }) =>
          data.valid
            ? succeeded('The vendor accepts the key')
            : failed('The vendor refuses the key', new Error(data.error ?? 'It gave no reason.')),
        (error: unknown) => failed('The key could not be tested', error),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Button busy={busy} onClick={ask}>
      Test with the vendor
    </Button>
  );
}

function DeleteSecret({
  secret: { id, name, references },
  onDeleted,
}: {
  readonly secret: Secret;
  readonly onDeleted: () => void;
}) {
  const [asked, setAsked] = useState(false);
  const [listKey, key] = [useKey('secrets'), useKey('secrets', id)];
  const isUsed = references.length > 0;
  return (
    <>
      <Button kind="dangerous" className="ml-auto" onClick={() => setAsked(true)}>
        Delete
      </Button>
      <Confirm
        open={asked}
        onClose={() => setAsked(false)}
        title={`Delete ${name}?`}
        verb={isUsed ? 'Delete although it is used' : 'Delete'}
        action={async () => {
          const params = { path: { id }, query: isUsed ? { force: true } : {} };
          await performDeletion({ deleted: [key], lists: [listKey] }, async () => {
            await take(api.DELETE('/api/secrets/{id}', { params }));
            onDeleted();
          });
          succeeded('The secret was deleted', name);
        }}
      >
        {isUsed
          ? `${references.length} ${references.length === 1 ? 'place uses' : 'places use'} it and will fail without it: ${references
              .slice(0, 5)
              .map((one) => `${one.type} ${one.name}`)
              .join(', ')}.`
          : 'Nothing uses it. This cannot be undone.'}
      </Confirm>
    </>
  );
}
