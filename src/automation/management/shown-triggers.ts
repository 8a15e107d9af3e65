/** Triggers as the documents show them: the form of `trigger_config` follows from `trigger_type`. */
import { z } from 'zod';
import { asSent, named } from '../../http/operations/index.js';
import { recordOf, type TriggerType, triggerTypes } from '../triggers/types/registry.js';
import { triggerAnswer } from './responses.js';

/** `Database event` → `DatabaseEvent`. */
const names = new Map(
  triggerTypes.map((type) => {
    const words = recordOf(type).title.split(' ');
    return [type, words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')] as const;
  }),
);

const configs = new Map(
  triggerTypes.map((type) => [type, named(`${names.get(type)}Config`, recordOf(type).config)] as const),
);

/** Types whose settings all have defaults need none. */
function givenConfigOf(type: TriggerType): z.ZodType {
  const config = configOf(type);
  return config.safeParse({}).success ? config.optional() : config;
}

function configOf(type: TriggerType): z.ZodType {
  return configs.get(type) ?? z.unknown();
}

/** A schema for each type of trigger, told apart by `trigger_type`. */
function eachType(name: (type: TriggerType) => string, shape: (type: TriggerType) => z.ZodRawShape) {
  const forms = triggerTypes.map((type) =>
    named(name(type), z.object({ ...shape(type), trigger_type: z.literal(type) })),
  );
  return z.discriminatedUnion('trigger_type', forms as [(typeof forms)[number], ...typeof forms]);
}

export const shownTrigger = named(
  'Trigger',
  eachType(
    (type) => `${names.get(type)}Trigger`,
    (type) => ({ ...triggerAnswer.shape, trigger_config: asSent(configOf(type)) }),
  ),
);

export function shownNewTrigger(shape: z.ZodRawShape) {
  return named(
    'NewTrigger',
    eachType(
      (type) => `New${names.get(type)}Trigger`,
      (type) => ({
        ...shape,
        trigger_config: givenConfigOf(type),
      }),
    ),
  );
}

export const newTriggerExample = {
  agent_id: '3f2b8c1e-5d4a-4f60-9a7b-1c2d3e4f5a6b',
  name: 'orders',
  trigger_type: 'webhook',
  trigger_config: {
    query_extraction: { mode: 'field', field: 'message' },
    session_strategy: { mode: 'derive', fields: ['customer.id'] },
    execution: { mode: 'async', callback: { url: 'https://example.com/answers' } },
  },
};
