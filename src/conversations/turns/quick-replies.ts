import type { Snapshot } from '../../agents/index.js';
import type { ToolDefinition } from '../../llm/index.js';
import type { QuickReplies } from './turn.js';
import { storableText } from '../../kernel/storable-text.js';

export const suggestionsName = 'suggest_quick_replies';

const labelsMax = 4;
const labelCharsMax = 60;

/** The platform's own tool: the arguments of the model's call are shown to the user as buttons. */
export const suggestions: ToolDefinition = {
  name: suggestionsName,
  description:
    'Suggests short replies that the user can choose from, shown below your answer. Call it once at most, with the ' +
    'words of your answer or in place of them.',
  parameters: {
    type: 'object',
    properties: {
      labels: {
        type: 'array',
        items: { type: 'string', maxLength: labelCharsMax },
        minItems: 1,
        maxItems: labelsMax,
        description: 'What the user would say, in the language of the user.',
      },
    },
    required: ['labels'],
  },
};

/**
 * Whether the agent suggests replies in a turn. It does not if the answer has a format, of the agent or of the turn: a
 * group of suggestions would not fit the schema.
 */
export function suggestsReplies(
  { quick_replies_enabled: isEnabled, llm_config }: Pick<Snapshot, 'quick_replies_enabled' | 'llm_config'>,
  ofTurn: object | undefined,
): boolean {
  return isEnabled && (ofTurn ?? llm_config.response_format) === undefined;
}

/** The usable suggestions of a call; undefined if there are none. */
export function quickRepliesOf(
  args: Readonly<Record<string, unknown>> | undefined,
): QuickReplies | undefined {
  const given = args?.['labels'];
  if (!Array.isArray(given)) return undefined;
  const labels = given
    .filter((label) => typeof label === 'string')
    .map((label) => cut(storableText(label).replaceAll(/\s+/g, ' ').trim()))
    .filter((label) => label !== '');
  const distinct = [...new Set(labels)].slice(0, labelsMax);
  return distinct.length === 0 ? undefined : { type: 'quick_replies', data: { labels: distinct } };
}

function cut(label: string): string {
  if (label.length <= labelCharsMax) return label;
  return `${label.slice(0, labelCharsMax - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
