import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { paths } from '#api/openapi';
import { api, take } from '../../../api/client';
import { queries, useKey } from '../../../api/queries';
import { useAllowed } from '../../../session/use-session';
import { Button } from '../../../ui/button';
import { FormProblem, problemOf } from '../../../ui/field';
import type { FieldSpecs } from '../../../ui/form/fields';
import { FormFields } from '../../../ui/form/form-fields';
import { isSame } from '../../../ui/form/rebased';
import { Card } from '../../../ui/page';
import { readable } from '../../../ui/unreadable-json';
import { useUnsaved } from '../../../ui/unsaved';
import { ConfigForm, type WrittenConfig } from '../config-form';
import { withPlace } from '../with-place';
import type { Made } from './created';
import type { Kind } from './kinds';

type Creation = NonNullable<paths['/api/triggers']['post']['requestBody']>['content']['application/json'];

const fieldsFor = (
  agents: readonly { readonly id: string; readonly commercial_name: string }[] | undefined,
): FieldSpecs => ({
  name: { kind: 'text', label: 'Name', required: true, half: true },
  agent_id: {
    kind: 'choice',
    label: 'Agent',
    hint: agents?.length === 0 ? 'Publish an agent first.' : 'Published agents.',
    options: [
      ['', 'Choose an agent'],
      ...(agents ?? []).map(({ id, commercial_name: shown }) => [id, shown] as const),
    ],
    required: true,
    half: true,
  },
});

export function NewTrigger({ kind, onMade }: { readonly kind: Kind; readonly onMade: (made: Made) => void }) {
  const [name, setName] = useState('');
  const [agentId, setAgentId] = useState('');
  const [draft, setDraft] = useState<WrittenConfig>({ config: kind.config, unreadable: undefined });
  const key = useKey('triggers');
  const mayAddSecrets = useAllowed('secrets:write');
  const agents = useQuery({
    queryKey: useKey('agents', 'published'),
    queryFn: ({ signal }) =>
      take(api.GET('/api/agents/published', { params: { query: { limit: 100 } }, signal })),
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const { trigger_config } = readable({ trigger_config: draft.unreadable ?? draft.config });
      // The server checks the settings by the trigger's type, and names the field that is wrong.
      const body = {
        agent_id: agentId,
        name,
        trigger_type: kind.type,
        trigger_config,
      };
      return take(api.POST('/api/triggers', { body: body as Creation }));
    },
    onSuccess: ({ data, webhook_url: url }) => {
      void queries.invalidateQueries({ queryKey: key });
      onMade({ id: data.id, secret: data.webhook_secret, url, kind, config: draft.config });
    },
  });
  const isWritten = name !== '' || !isSame(draft.config, kind.config) || draft.unreadable !== undefined;
  useUnsaved(isWritten && !isPending);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    mutate();
  };
  return (
    <form onSubmit={submit} className="flex max-w-3xl flex-col gap-4">
      <Card title="Trigger">
        <FormFields
          specs={fieldsFor(agents.data?.data)}
          raws={{ name, agent_id: agentId }}
          problem={(field) => problemOf(error, field)}
          onChange={(field, raw) => (field === 'name' ? setName : setAgentId)(raw as string)}
        />
      </Card>
      {kind.secret !== undefined && (
        <p className="rounded-md bg-accent-soft px-3 py-2 text-sm">
          First store what {kind.title} gave you as{' '}
          {mayAddSecrets ? (
            // Beside this page, where something may be written already.
            <Link to="/secrets" search={{ create: true }} target="_blank" className="text-accent underline">
              a secret
            </Link>
          ) : (
            'a secret'
          )}
          : <code className="font-mono">{kind.secret}</code>
        </p>
      )}
      <ConfigForm type={kind.type} draft={draft} onChange={setDraft} error={error} />
      <FormProblem error={withPlace(error)} />
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={isPending}>
          Create trigger
        </Button>
      </div>
    </form>
  );
}
