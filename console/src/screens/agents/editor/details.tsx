import { CheckField } from '../../../ui/check-field';
import { problemOf, SelectField, TextArea, TextField } from '../../../ui/field';
import { JsonField } from '../../../ui/json-field';
import { ListField } from '../../../ui/list-field';
import { agentTypes } from '../types';
import type { Draft, PartProps } from './draft';

export function Details({ state: { draft, change }, error }: PartProps) {
  const at = (field: string) => problemOf(error, field);
  return (
    <fieldset disabled={change === undefined} className="flex max-w-2xl min-w-0 flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          hint="For programs; unique in the tenant."
          problem={at('name')}
          value={draft.name}
          onChange={({ target }) => change?.({ name: target.value })}
        />
        <TextField
          label="Shown name"
          hint="What people see."
          problem={at('commercial_name')}
          value={draft.commercial_name}
          onChange={({ target }) => change?.({ commercial_name: target.value })}
        />
      </div>
      <TextArea
        label="About"
        problem={at('bio')}
        value={draft.bio}
        onChange={({ target }) => change?.({ bio: target.value })}
      />
      <SelectField
        label="Type"
        options={agentTypes.map((type) => [type, type.replaceAll('_', ' ')])}
        value={draft.type}
        onChange={({ target }) => change?.({ type: target.value as Draft['type'] })}
      />
      <ListField
        label="Tags"
        hint="Separated by commas."
        problem={at('tags') ?? at('tags.0')}
        entries={draft.tags}
        onChange={(tags) => change?.({ tags })}
      />
      <CheckField
        label="Suggest replies"
        hint="The agent may offer up to four short answers to choose from."
        checked={draft.quick_replies_enabled}
        onChange={({ target }) => change?.({ quick_replies_enabled: target.checked })}
      />
      <CheckField
        label="Available in the chat"
        checked={draft.chat_enabled}
        onChange={({ target }) => change?.({ chat_enabled: target.checked })}
      />
      <JsonField
        label="Metadata"
        hint="Everything that the platform and your programs keep with the agent, at most 64 KB."
        problem={at('metadata')}
        kind="object"
        value={draft.metadata}
        onChange={(value) => change?.({ metadata: value as Draft['metadata'] })}
      />
    </fieldset>
  );
}
