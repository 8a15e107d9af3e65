import { api, take } from '../../api/client';
import { queries, useKey } from '../../api/queries';
import type { FieldSpecs } from '../../ui/form/fields';
import { Form } from '../../ui/form/form';

const fields = {
  value: {
    kind: 'text',
    type: 'password',
    label: 'New value',
    required: true,
    autoComplete: 'off',
    half: true,
  },
  grace: {
    kind: 'choice',
    label: 'Previous value stays valid',
    api: 'grace_seconds',
    options: [
      ['3600', 'for an hour'],
      ['86400', 'for a day'],
      ['0', 'not at all'],
    ],
    half: true,
  },
} as const satisfies FieldSpecs;

/** A new value. The previous one stays valid for a while, for those that still send it. */
export function RotateSecret({ id }: { readonly id: string }) {
  const listKey = useKey('secrets');
  return (
    <Form
      fields={fields}
      verb="Change the value"
      kind="secondary"
      clears
      submit={async ({ value, grace }) => {
        const body = { value, grace_seconds: Number(grace) };
        const { data } = await take(api.PUT('/api/secrets/{id}/value', { params: { path: { id } }, body }));
        await queries.invalidateQueries({ queryKey: listKey });
        return data.version;
      }}
      done={(version) => `The value was changed; it has version ${version}`}
    />
  );
}
