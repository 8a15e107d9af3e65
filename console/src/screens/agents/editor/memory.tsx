import { problemOf, SelectField, TextField } from '../../../ui/field';
import { Card } from '../../../ui/page';
import { UnreadableJson } from '../../../ui/unreadable-json';
import type { PartProps } from './draft';

type Settings = Readonly<Record<string, unknown>>;
const settingsOf = (value: unknown): Settings =>
  typeof value === 'object' && value !== null ? (value as Settings) : {};
const numberIn = (settings: Settings, name: string): number | '' =>
  typeof settings[name] === 'number' ? settings[name] : '';

/** The settings that the platform reads from `metadata`. */
export function Memory({ state: { draft, change }, error }: PartProps) {
  const isUnreadable = draft.metadata instanceof UnreadableJson;
  const memory = settingsOf(draft.metadata['memory']);
  const budget = settingsOf(draft.metadata['budget']);
  const policy = settingsOf(draft.metadata['security_policy']);
  const at = (field: string) => problemOf(error, `metadata.${field}`);
  const write = (name: string, settings: Settings, part: Settings): void => {
    const entries = Object.entries({ ...settings, ...part }).filter(([, value]) => value !== undefined);
    const next = entries.length === 0 ? undefined : Object.fromEntries(entries);
    const { [name]: _, ...others } = draft.metadata;
    change?.({ metadata: next === undefined ? others : { ...others, [name]: next } });
  };
  const numeric = (group: string, settings: Settings, field: string, label: string, hint: string) => (
    <TextField
      label={label}
      hint={hint}
      type="number"
      min={0}
      step="any"
      problem={at(`${group}.${field}`)}
      value={numberIn(settings, field)}
      onChange={({ target }) =>
        write(group, settings, { [field]: target.value === '' ? undefined : Number(target.value) })
      }
    />
  );
  return (
    <fieldset disabled={change === undefined || isUnreadable} className="flex min-w-0 flex-col gap-4">
      {isUnreadable && (
        <p role="status" className="text-sm text-warn">
          These settings are in the metadata, which is not valid JSON. Correct it under Details first.
        </p>
      )}
      <Card title="Memory">
        <div className="flex flex-col gap-4">
          <SelectField
            label="What the agent remembers"
            options={[
              ['', 'The last messages of the conversation'],
              ['true', 'The last messages, a summary of older ones, and facts about the person'],
              ['false', 'Nothing: each message stands alone'],
            ]}
            hint="Summaries and facts cost model calls."
            value={typeof memory['enabled'] === 'boolean' ? String(memory['enabled']) : ''}
            onChange={({ target: { value } }) =>
              write('memory', memory, { enabled: value === '' ? undefined : value === 'true' })
            }
          />
          <div className="grid gap-4 sm:grid-cols-2">
            {numeric(
              'memory',
              memory,
              'window_messages',
              'Messages in view',
              'How many of the last messages the model sees.',
            )}
            {numeric(
              'memory',
              memory,
              'summarize_after',
              'Summarise after',
              'Messages after which older ones become a summary.',
            )}
          </div>
        </div>
      </Card>
      <Card title="Budget">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="US dollars"
            hint="What the agent may spend on model calls. Empty: no limit of its own."
            type="number"
            min={0}
            step="any"
            problem={at('budget.usd') ?? at('budget')}
            value={numberIn(budget, 'usd')}
            onChange={({ target }) =>
              write('budget', target.value === '' ? {} : { period: 'month', ...budget }, {
                usd: target.value === '' ? undefined : Number(target.value),
                ...(target.value === '' && { period: undefined }),
              })
            }
          />
          <SelectField
            label="In a"
            hint="Days and months of UTC."
            options={[
              ['day', 'day'],
              ['month', 'month'],
            ]}
            disabled={budget['usd'] === undefined}
            value={budget['period'] === 'day' ? 'day' : 'month'}
            onChange={({ target }) => write('budget', budget, { period: target.value })}
          />
        </div>
      </Card>
      <Card title="Sub-agents">
        {numeric(
          'security_policy',
          policy,
          'child_timeout_ms',
          'Time for a sub-agent',
          'In milliseconds; 60,000 unless set.',
        )}
      </Card>
    </fieldset>
  );
}
