import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { KeyCaller } from '../../kernel/caller.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { Catalogue, CatalogueModel } from '../../llm/index.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import { apiKey, declare, type Operation } from '../../http/operations/index.js';
import {
  anthropicModelShape,
  openAiModelShape,
  toChatModel,
  toMessagesModel,
  toMessagesModels,
} from '../compat/index.js';
import type { ModelCalls } from './model-calls.js';

export interface CompatModelParts {
  readonly calls: Pick<ModelCalls, 'vendorsOf' | 'modelsMeant'>;
  readonly catalogue: Catalogue;
  readonly time: Time;
}

/** Every client of Anthropic's API sends it; clients of OpenAI's never do. */
const dialectHeader = 'anthropic-version';
const common = {
  method: 'GET',
  access: apiKey('models:read'),
  dialect: 'openai',
  headers: [dialectHeader],
} as const;

const pageLimitMax = 1_000;
const listQuery = z.object({
  after_id: z.string().min(1).max(200).optional(),
  before_id: z.string().min(1).max(200).optional(),
  limit: z.coerce.number().int().min(1).max(pageLimitMax).default(20),
});

/** The models, in the form of the vendor whose client asks. */
export function compatModelOperations({ calls, catalogue, time }: CompatModelParts): readonly Operation[] {
  const callable = async ({ scope }: KeyCaller): Promise<readonly CatalogueModel[]> => {
    const isAvailable = await calls.vendorsOf(scope);
    return catalogue.all.filter(({ vendor }) => isAvailable(vendor));
  };
  const createdSeconds = (): number => Math.floor(time.wallMs() / 1_000);
  return [
    declare({
      ...common,
      name: 'compat.models',
      path: '/v1/models',
      title: "List the callable models in OpenAI's format, or Anthropic's with `anthropic-version`.",
      description: 'Only the form of Anthropic has pages: `limit`, `after_id` and `before_id`.',
      query: listQuery,
      output: z.union([
        z.looseObject({ object: z.literal('list'), data: z.array(openAiModelShape) }),
        z.looseObject({
          data: z.array(anthropicModelShape),
          first_id: z.string().nullable(),
          has_more: z.boolean(),
          last_id: z.string().nullable(),
        }),
      ]),
      async handle({ caller, headers, query }) {
        const models = await callable(caller);
        if ((headers[dialectHeader] ?? '') === '') {
          return {
            object: 'list' as const,
            data: models.map((model) => toChatModel(model, createdSeconds())),
          };
        }
        const { after_id: after, before_id: before, limit } = query;
        if (after !== undefined && before !== undefined) {
          throw invalidField('before_id', 'cannot be used together with after_id');
        }
        const page = toMessagesModels(models, { after, before, limit });
        if (page !== undefined) return page;
        throw invalidField(after === undefined ? 'before_id' : 'after_id', 'names no model of the list');
      },
    }),
    declare({
      ...common,
      name: 'compat.model',
      path: '/v1/models/:model',
      title: "Read one callable model in OpenAI's format, or Anthropic's with `anthropic-version`.",
      params: z.object({ model: z.string().min(1).max(200) }),
      output: z.union([openAiModelShape, anthropicModelShape]),
      errors: ['not_found'],
      async handle({ caller, headers, params: { model: name } }) {
        const isAnthropic = (headers[dialectHeader] ?? '') !== '';
        const found = catalogue.resolve(
          modelMeantBy(caller.limits, name),
          undefined,
          isAnthropic ? 'anthropic' : 'openai',
        );
        const isAvailable = await calls.vendorsOf(caller.scope);
        if (!('model' in found) || !isAvailable(found.model.vendor)) {
          const meant = await calls.modelsMeant(caller.scope, caller.limits, name);
          throw new PlatformError('not_found', {
            message: `There is no model ${name}.${meant}`,
            details: { field: 'model', issue: 'not found' },
          });
        }
        return isAnthropic ? toMessagesModel(found.model) : toChatModel(found.model, createdSeconds());
      },
    }),
  ];
}
