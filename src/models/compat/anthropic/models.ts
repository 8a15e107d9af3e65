/** Models and lists of models in the form of Anthropic's API. */
import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';

export interface ListedModel {
  readonly id: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

type MessagesModel = Pick<
  ModelInfo,
  'type' | 'id' | 'display_name' | 'created_at' | 'max_input_tokens' | 'max_tokens'
>;

/** The catalogue has no release dates; the vendor's documents give this time for an unknown one. */
const unknownRelease = '1970-01-01T00:00:00Z';

export function toMessagesModel({ id, contextWindow, maxOutputTokens }: ListedModel): MessagesModel {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: unknownRelease,
    max_input_tokens: contextWindow,
    max_tokens: maxOutputTokens,
  };
}

export interface ModelPage {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Undefined if the cursor names no model of the list. */
export function toMessagesModels(
  models: readonly ListedModel[],
  { after, before, limit }: ModelPage,
):
  | {
      data: MessagesModel[];
      first_id: string | null;
      has_more: boolean;
      last_id: string | null;
    }
  | undefined {
  const at = (cursor: string): number => models.findIndex(({ id }) => id === cursor);
  const from = after === undefined ? 0 : at(after) + 1;
  const until = before === undefined ? models.length : at(before);
  if ((after !== undefined && from === 0) || until < 0) return undefined;
  // Before a cursor the page ends at it; the rest lies in front of the page.
  const start = before === undefined ? from : Math.max(from, until - limit);
  const page = models.slice(start, before === undefined ? start + limit : until);
  return {
    data: page.map(toMessagesModel),
    first_id: page[0]?.id ?? null,
    has_more: before === undefined ? start + page.length < models.length : start > from,
    last_id: page.at(-1)?.id ?? null,
  };
}
