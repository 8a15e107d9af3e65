import { type Dispatch, type SetStateAction, useState } from 'react';
import { problemOf } from '../../ui/field';
import { JsonField } from '../../ui/json-field';
import { Card } from '../../ui/page';
import { withSetting } from './config';
import { fieldsOf } from './fields';
import type { TriggerType } from './routes';
import { isShown, SettingField } from './setting-field';
import type { Config } from './types';

/** The settings of a trigger: the usual ones as fields, all of them as JSON. Both write the same configuration. */
export function ConfigForm({
  type,
  config,
  onChange,
  error,
}: {
  readonly type: TriggerType;
  readonly config: Config;
  readonly onChange: Dispatch<SetStateAction<Config>>;
  readonly error: unknown;
}) {
  const [isOpen, setOpen] = useState(false);
  const at = (path: string): string | undefined => problemOf(error, `trigger_config.${path}`);
  return (
    <>
      {fieldsOf[type].map(({ title, fields }) => {
        const shown = fields.filter((field) => isShown(field, config));
        if (shown.length === 0) return null;
        return (
          <Card key={title} title={title}>
            <div className="grid gap-4 sm:grid-cols-2 [&>fieldset]:sm:col-span-2 [&>:has(>textarea)]:sm:col-span-2">
              {shown.map((field) => (
                <SettingField
                  key={field.path}
                  field={field}
                  config={config}
                  problem={at(field.path) ?? at(`${field.path}.0`)}
                  onChange={(value) => onChange((present) => withSetting(present, field.path, value))}
                />
              ))}
            </div>
          </Card>
        );
      })}
      <details
        className="rounded-lg border border-line bg-surface"
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary className="px-4 py-2.5 text-sm font-medium">All settings as JSON</summary>
        {isOpen && (
          <div className="border-t border-line p-4">
            <JsonField
              label="trigger_config"
              value={config}
              onChange={(value) => typeof value === 'object' && value !== null && onChange(value as Config)}
            />
          </div>
        )}
      </details>
    </>
  );
}
