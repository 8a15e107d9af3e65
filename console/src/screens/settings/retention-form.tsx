import { Form } from '../../ui/form/form';
import { Card } from '../../ui/page';
import type { KeptTenant } from './kept-tenant';
import { useChange } from './use-change';

const days = (name: string, label: string, hint: string) =>
  ({
    kind: 'number',
    label,
    hint,
    api: `retention.${name}`,
    min: 1,
    max: 3650,
    whole: true,
    half: true,
  }) as const;

const fields = {
  messages_days: days('messages_days', 'Messages', 'Conversations with what was written in them.'),
  executions_days: days('executions_days', 'Executions', 'Turns with their steps.'),
  previews_days: days('previews_days', 'Previews of calls', 'The beginnings of what models saw and said.'),
  usage_days: days('usage_days', 'Usage', 'Tokens and cost of each call.'),
  audit_days: days('audit_days', 'Audit', 'Who changed what, and the keys that were revoked.'),
};

export function RetentionForm({ tenant: { retention } }: { readonly tenant: KeptTenant }) {
  const change = useChange();
  return (
    <Card title="For how many days data is kept">
      <Form
        fields={fields}
        initial={retention}
        verb="Save the days"
        done="The settings were saved"
        // An empty field restores the default.
        submit={(values) =>
          change({
            retention: Object.fromEntries(
              Object.entries(values).map(([name, value]) => [name, value ?? null]),
            ),
          })
        }
      >
        <p className="text-xs text-muted">
          1 to 3650. What is older is deleted for good. An empty field restores the default.
        </p>
      </Form>
    </Card>
  );
}
