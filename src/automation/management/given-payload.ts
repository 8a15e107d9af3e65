import type { TenantScope } from '../../kernel/tenant-scope.js';
import { isReservedName } from '../../conversations/invocation/index.js';
import { type Expressions, textOf } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import { Stop, stopAtFault, unreadable } from '../intake/pipeline/stop.js';
import { readQuery } from '../intake/read-message.js';
import type { TriggerConfig } from '../triggers/config/trigger-config.js';
import { type MappedContext, mappedContext } from '../triggers/mapped-context.js';
import { fillText } from '../triggers/templates.js';

const valueCharsMax = 2_000;
const namesMax = 50;

/** The message of a payload that a member gives by hand: its own text, else what the trigger's settings make of it. */
export async function givenMessage(
  expressions: Pick<Expressions, 'evaluate'>,
  scope: TenantScope,
  parsed: TriggerConfig,
  payload: JsonObject,
): Promise<string> {
  const given = payload['message'];
  if (typeof given === 'string' && given.trim() !== '') return given;
  switch (parsed.type) {
    case 'schedule':
      return parsed.config.message;
    case 'db_event':
      return fillText(parsed.config.message_template, payload);
    case 'email':
      return JSON.stringify(payload);
    case 'webhook': {
      const sources = { context: {}, payload, message: undefined };
      const query = await stopAtFault(unreadable, () =>
        readQuery(scope, parsed.config, sources, expressions),
      );
      // If the payload has no message where the trigger looks for one, the payload itself is the message.
      return query instanceof Stop ? JSON.stringify(payload) : query;
    }
  }
}

/** The mapped names, and every scalar of the payload itself. */
export function givenContext(parsed: TriggerConfig, payload: JsonObject): MappedContext {
  const own = Object.entries(payload).flatMap(([name, value]) =>
    name === 'message' || isReservedName(name) || value === null || value === undefined
      ? []
      : [
          [
            name,
            typeof value === 'number' || typeof value === 'boolean'
              ? value
              : textOf(value).slice(0, valueCharsMax),
          ] as const,
        ],
  );
  const mapped =
    parsed.type === 'webhook'
      ? mappedContext(parsed.config.context_mapping, payload)
      : parsed.type === 'schedule'
        ? parsed.config.context
        : {};
  return { ...Object.fromEntries(own.slice(0, namesMax)), ...mapped };
}
