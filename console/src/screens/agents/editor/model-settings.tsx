import { problemOf, TextField } from '../../../ui/field';
import { JsonField } from '../../../ui/json-field';
import { ListField } from '../../../ui/list-field';
import type { PartProps } from './draft';
import type { Agent } from '../types';
import { ModelField } from '../../../ui/model-field';

const numberOf = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));

export function ModelSettings({ state: { draft, change, changeModel }, error }: PartProps) {
  const config = draft.llm_config;
  const at = (field: string) => problemOf(error, `llm_config.${field}`);
  return (
    <fieldset disabled={change === undefined} className="flex max-w-2xl min-w-0 flex-col gap-4">
      <ModelField value={config.model} onChange={(model) => changeModel({ model })} problem={at('model')} />
      <ListField
        label="Models to fall back to"
        hint="Ids of models, separated by commas. Asked in this order when the model fails before its first word."
        problem={at('fallback_models') ?? at('fallback_models.0')}
        entries={config.fallback_models ?? []}
        onChange={(ids) => changeModel({ fallback_models: ids.length === 0 ? undefined : [...ids] })}
      />
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Temperature"
          type="number"
          min={0}
          max={2}
          step={0.1}
          hint="0 to 2"
          problem={at('temperature')}
          value={Number.isNaN(config.temperature) ? '' : config.temperature}
          onChange={({ target }) => changeModel({ temperature: numberOf(target.value) ?? Number.NaN })}
        />
        <TextField
          label="Longest answer"
          type="number"
          min={1}
          hint="In tokens; empty: the model's own"
          problem={at('max_tokens')}
          value={config.max_tokens ?? ''}
          onChange={({ target }) => changeModel({ max_tokens: numberOf(target.value) })}
        />
        <TextField
          label="Rounds of tools"
          type="number"
          min={1}
          max={64}
          hint="1 to 64 in one turn"
          problem={at('max_tool_rounds')}
          value={Number.isNaN(config.max_tool_rounds) ? '' : config.max_tool_rounds}
          onChange={({ target }) => changeModel({ max_tool_rounds: numberOf(target.value) ?? Number.NaN })}
        />
      </div>
      <JsonField
        label="Form of the answer"
        hint='Empty: text. Or {"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}: the answer fits the schema.'
        problem={at('response_format')}
        value={config.response_format}
        onChange={(value) =>
          changeModel({ response_format: value as Agent['llm_config']['response_format'] })
        }
      />
    </fieldset>
  );
}
