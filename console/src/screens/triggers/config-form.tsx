import { useState } from 'react';
import { problemOf } from '../../ui/field';
import { rebased } from '../../ui/form/rebased';
import { JsonField } from '../../ui/json-field';
import { Card } from '../../ui/page';
import { UnreadableJson } from '../../ui/unreadable-json';
import { withSetting } from './config';
import { fieldsOf } from './fields';
import type { TriggerType } from './routes';
import { isShown, SettingField } from './setting-field';
import type { Config } from './types';

/** Settings as they are written: while their JSON cannot be read, its text is what is written. */
export interface WrittenConfig {
  readonly config: Config;
  readonly unreadable: UnreadableJson | undefined;
  /** The configuration that the text was begun over. */
  readonly over?: Config | undefined;
}

interface ConfigFormProps<Draft> {
  readonly type: TriggerType;
  readonly draft: Draft;
  readonly onChange: (next: (present: Draft) => Draft) => void;
  readonly error: unknown;
}

/** The settings of a trigger: the usual ones as fields, all of them as JSON. Both write the same configuration. */
export function ConfigForm<Draft extends WrittenConfig>({
  type,
  draft: { config, unreadable },
  onChange,
  error,
}: ConfigFormProps<Draft>) {
  const [isOpen, setOpen] = useState(false);
  const at = (path: string): string | undefined => problemOf(error, `trigger_config.${path}`);
  return (
    <>
      {fieldsOf[type].map(({ title, fields }) => {
        const shown = fields.filter((field) => isShown(field, config));
        if (shown.length === 0) return null;
        return (
          <Card key={title} title={title}>
            {/* What is written here would be lost once the JSON below can be read again. */}
            <fieldset
              disabled={unreadable !== undefined}
              className="grid gap-4 sm:grid-cols-2 [&>fieldset]:sm:col-span-2 [&>:has(>textarea)]:sm:col-span-2"
            >
              {shown.map((field) => (
                <SettingField
                  key={field.path}
                  field={field}
                  config={config}
                  problem={at(field.path) ?? at(`${field.path}.0`)}
                  onChange={(value) =>
                    onChange((present) => ({
                      ...present,
                      config: withSetting(present.config, field.path, value),
                    }))
                  }
                />
              ))}
            </fieldset>
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
              kind="object"
              value={unreadable ?? config}
              onChange={(value) => onChange((present) => ({ ...present, ...written(present, value) }))}
            />
          </div>
        )}
      </details>
    </>
  );
}

/** What others changed while the text could not be read stays. */
function written({ config, over = config }: WrittenConfig, value: unknown): WrittenConfig {
  if (value instanceof UnreadableJson) return { config, unreadable: value, over };
  return { config: rebased(value as Config, over, config), unreadable: undefined, over: undefined };
}
