import { Form } from '../../ui/form/form';
import type { FieldSpecs } from '../../ui/form/fields';
import { Card } from '../../ui/page';
import { pairsOf } from '../../ui/pairs-field';
import type { KeptTenant } from './kept-tenant';
import { useChange } from './use-change';

const fields = {
  model_aliases: {
    kind: 'pairs',
    label: 'Names',
    names: 'Name',
    values: 'Model',
    hint: 'Such as fast for openai.gpt-5-mini. Calls, keys and agents may use the name; a change takes effect at once.',
  },
} as const satisfies FieldSpecs;

/** Names of the tenant's own that stand for models. */
export function AliasesForm({ tenant: { model_aliases: aliases } }: { readonly tenant: KeptTenant }) {
  const change = useChange();
  return (
    <Card title="Names for models">
      <Form
        fields={fields}
        initial={{ model_aliases: pairsOf(aliases) }}
        verb="Save the names"
        done="The settings were saved"
        submit={({ model_aliases: next }) => change({ model_aliases: next ?? null })}
      />
    </Card>
  );
}
