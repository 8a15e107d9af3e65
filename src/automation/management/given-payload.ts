import type { TenantScope } from '../../kernel/tenant-scope.js';
import { isReservedName } from '../../conversations/invocation/index.js';
import { type Expressions, textOf } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import { Stop, stopAtFault, unreadable } from '../intake/pipeline/stop.js';
import { readQuery } from '../intake/read-message.js';
import { recordOf, requestsOf, type TriggerConfig, type TriggerType } from '../triggers/types/registry.js';
import { cutText, type MappedContext } from '../triggers/mapped-context.js';

const valueCharsMax = 2_000;
const namesMax = 50;

/**
 * The message of a payload that a member gives by hand: the payload's own text, else the text that the trigger's settings
 * make of it.
 */
export async function givenMessage(
  expressions: Pick<Expressions, 'evaluate'>,
  scope: TenantScope,
  parsed: TriggerConfig,
  payload: JsonObject,
): Promise<string> {
  const given = payload['message'];
  if (typeof given === 'string' && given.trim() !== '') return given;
  const requests = requestsOf(parsed);
  if (requests === undefined) return ownMessage(parsed, payload);
  const sources = { context: {}, payload, message: undefined };
  const query = await stopAtFault(unreadable, () => readQuery(scope, requests, sources, expressions));
  // If the payload has no message where the trigger expects one, the payload itself is the message.
  return query instanceof Stop ? ownMessage(parsed, payload) : query;
}

function ownMessage<Type extends TriggerType>(
  { type, config }: TriggerConfig<Type>,
  payload: JsonObject,
): string {
  return recordOf<Type>(type).messageOf?.(config, payload) ?? JSON.stringify(payload);
}

/** The mapped names, and every scalar of the payload itself. */
export function givenContext<Type extends TriggerType>(
  { type, config }: TriggerConfig<Type>,
  payload: JsonObject,
): MappedContext {
  const own = Object.entries(payload).flatMap(([name, value]) =>
    name === 'message' || isReservedName(name) || value === null || value === undefined
      ? []
      : [
          [
            name,
            typeof value === 'number' || typeof value === 'boolean'
              ? value
              : cutText(textOf(value), valueCharsMax),
          ] as const,
        ],
  );
  const mapped = recordOf<Type>(type).contextOf?.(config, payload);
  return { ...Object.fromEntries(own.slice(0, namesMax)), ...mapped };
}
