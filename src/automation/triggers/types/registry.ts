import type { z } from 'zod';
import type { JsonObject } from '../../../http/operations/index.js';
import type { WebhookConfig } from '../config/webhook-config.js';
import { databaseEvent } from './database-event.js';
import type { EmailConfig } from '../config/email-config.js';
import { email } from './email.js';
import { schedule } from './schedule.js';
import type { TriggerTypeRecord } from './trigger-type.js';
import { webhook } from './webhook.js';

/** Every type of trigger, by the name that requests and rows call it. Lists of types are in this order. */
const records = { webhook, email, db_event: databaseEvent, schedule };

export type TriggerType = keyof typeof records;

type Configs = { readonly [Type in TriggerType]: z.output<(typeof records)[Type]['config']> };
export type ConfigOf<Type extends TriggerType> = Configs[Type];

/** A validated configuration with every default filled in. */
export type TriggerConfig<Type extends TriggerType = TriggerType> = {
  readonly [Name in Type]: { readonly type: Name; readonly config: Configs[Name] };
}[Type];

const registry: { readonly [Type in TriggerType]: TriggerTypeRecord<Configs[Type]> } = records;

export const triggerTypes = Object.keys(records) as readonly TriggerType[];

export function recordOf<Type extends TriggerType>(type: Type): TriggerTypeRecord<Configs[Type]> {
  return registry[type];
}

/** The configuration of a trigger that must be of this type; undefined for another. */
export function configAs<Type extends TriggerType>(
  type: Type,
  parsed: TriggerConfig | undefined,
): Configs[Type] | undefined {
  return parsed?.type === type ? (parsed.config as Configs[Type]) : undefined;
}

export function takesRequests(type: TriggerType): boolean {
  return registry[type].requests !== undefined;
}

/** How requests become messages and are answered; undefined for types that take no requests. */
export function requestsOf<Type extends TriggerType>(
  parsed: TriggerConfig<Type> | undefined,
): WebhookConfig | undefined {
  return parsed && recordOf<Type>(parsed.type).requests?.(parsed.config);
}

/** The settings by which answers are sent as mails; undefined for types that send none. */
export function mailOf<Type extends TriggerType>(parsed: TriggerConfig<Type>): EmailConfig | undefined {
  return recordOf<Type>(parsed.type).mail?.(parsed.config);
}

/** Whether the platform asks the trigger's source for messages. */
export function isPolled<Type extends TriggerType>(parsed: TriggerConfig<Type>): boolean {
  return recordOf<Type>(parsed.type).isPolled(parsed.config);
}

/** The times of an enabled trigger's next runs; undefined for types that do not know them. */
export function nextRunsOf(type: TriggerType, config: JsonObject, nowMs: number): string[] | undefined {
  return registry[type].nextRuns?.(config, nowMs);
}
