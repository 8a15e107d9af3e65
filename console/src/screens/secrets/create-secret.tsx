import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import { Dialog } from '../../ui/dialog';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';
import { succeeded } from '../../ui/toasts';
import { kinds, type Secret } from './secret';

const fields = {
  name: { kind: 'text', label: 'Name', required: true, hint: 'Agents, tools and triggers name it so.' },
  kind: {
    kind: 'choice',
    label: 'Kind',
    options: Object.entries(kinds) as unknown as readonly (readonly [Secret['kind'], string])[],
  },
  provider: {
    kind: 'text',
    label: 'Vendor',
    required: true,
    hint: 'Such as openai or anthropic.',
    shown: ({ kind }) => kind === 'llm_key',
  },
  hosts: {
    kind: 'list',
    label: 'Hosts',
    api: 'allowed_hosts',
    hint: "Where it may be sent, separated by commas. Empty: any host that an admin's tool names.",
    shown: ({ kind }) => kind !== 'llm_key',
  },
  value: {
    kind: 'text',
    type: 'password',
    label: 'Value',
    required: true,
    autoComplete: 'off',
    hint: ({ kind }) => (kind === 'basic' ? 'As user:password.' : 'It is not shown again.'),
  },
} as const satisfies FieldSpecs;

export function CreateSecret({ onClose }: { readonly onClose: () => void }) {
  const listKey = useKey('secrets');
  return (
    <Dialog open onClose={onClose} title="Add a secret">
      <Form
        fields={fields}
        verb="Store"
        submit={async ({ name, value, kind, provider, hosts }) => {
          const where = kind === 'llm_key' ? { provider: provider ?? '' } : { allowed_hosts: hosts ?? null };
          const { data } = await take(api.POST('/api/secrets', { body: { name, value, kind, ...where } }));
          await queries.invalidateQueries({ queryKey: listKey });
          succeeded('The secret was stored', data.name);
          onClose();
        }}
      />
    </Dialog>
  );
}
