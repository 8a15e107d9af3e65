import { channelTypes, responseFormats, triggerTypes } from '../../automation/index.js';
import type { OperationTable } from '../../http/operations/index.js';
import { modelTiersOf } from '../../kernel/plans/index.js';
import type { Document } from './document.js';

export function catalogDocuments(table: OperationTable): readonly Document[] {
  return [models(table), channels()];
}

/** Every role may read it: it shows the models of the plan and nothing of the tenant. */
function models(table: OperationTable): Document {
  const operation = table.named('llm.models');
  return {
    uri: 'platform://catalog/models',
    name: 'catalog-models',
    title: 'Models',
    description: 'The models of the plan: vendor, id, tier, context size and price.',
    mimeType: 'application/json',
    async read({ caller, requestId }) {
      const answer = (await operation.handle({
        caller,
        params: {},
        query: {},
        body: undefined,
        rawBody: new Uint8Array(0),
        rawQuery: '',
        headers: {},
        requestId,
        signal: never,
        leaving: never,
      })) as { readonly data: readonly Readonly<Record<string, unknown>>[] };
      const tiers: readonly unknown[] = modelTiersOf(caller.limits.plan);
      const shown = answer.data.filter(({ tier }) => tiers.includes(tier));
      return JSON.stringify({
        plan: caller.limits.plan,
        models: shown.map((model) => ({ ...model, available: undefined })),
      });
    },
  };
}

const never = new AbortController().signal;

/** Suggested chunk sizes by purpose; a trigger sets its own in `split_config`. */
const chunkSizes = [
  { suits: 'chat messaging', max_chunk_size: 1_500, inter_chunk_delay_ms: 500 },
  { suits: 'SMS', max_chunk_size: 140, inter_chunk_delay_ms: 300 },
  { suits: 'workplace chat', max_chunk_size: 4_000, inter_chunk_delay_ms: 200 },
  { suits: 'the array format `erp`', max_chunk_size: 30_000, inter_chunk_delay_ms: 0 },
] as const;

function channels(): Document {
  const text = JSON.stringify({
    trigger_types: triggerTypes,
    channels: channelTypes,
    response_formats: responseFormats,
    reference_chunk_sizes: chunkSizes,
  });
  return {
    uri: 'platform://catalog/channels',
    name: 'catalog-channels',
    title: 'Trigger types and channels',
    description: 'Trigger types, channel adapters, response formats and reference chunk sizes.',
    mimeType: 'application/json',
    read: () => text,
  };
}
