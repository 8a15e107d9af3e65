import type { z } from 'zod';
import type { Egress } from '../../../infra/egress/index.js';
import type { JsonObject } from '../../../http/operations/index.js';
import type { Destination, Place } from '../../../tenancy/vault/index.js';
import type { SecretFields } from '../config/fields.js';
import type { ChannelAddresses, WebhookConfig } from '../config/webhook-config.js';
import type { MappedContext } from '../mapped-context.js';
import type { EmailConfig } from '../config/email-config.js';

export type OutboundCheck = Pick<Egress, 'checkUrl' | 'checkHost' | 'checkHeaders'>;

/**
 * What a type of trigger declares. Code that serves several types asks this record and never compares the type's name.
 * Members that are absent mean: nothing beyond what every type has.
 */
export interface TriggerTypeRecord<Config> {
  /** The title and description in the list of types. */
  readonly title: string;
  readonly description: string;
  /** The schema of `trigger_config`. */
  readonly config: z.ZodType<Config>;
  /** Whether the platform asks the source for messages. Otherwise senders push them, and are refused on arrival. */
  isPolled(config: Config): boolean;
  /** How requests become messages and are answered, for a type that takes requests. */
  requests?(config: Config): WebhookConfig;
  /** The settings by which answers are sent as mails. */
  mail?(config: Config): EmailConfig;
  /** The destinations of the secrets that this type's own settings use. */
  destinations?(config: Config, channels: ChannelAddresses): readonly Destination[];
  /** Refuses hosts that outbound connections may not use, naming the field. */
  checkOutbound?(config: Config, egress: OutboundCheck): void;
  /** Refuses, on save, values that the schema alone cannot judge. */
  checkSettings?(config: Config, nowMs: number): void;
  /** The times of the next runs, for a type that knows them. */
  nextRuns?(config: JsonObject, nowMs: number): string[];
  /** The message of a run by hand whose payload has no `message`. Default: the payload as JSON. */
  messageOf?(config: Config, payload: JsonObject): string;
  /** The context that the settings add to a run by hand. */
  contextOf?(config: Config, payload: JsonObject): MappedContext;
  /** Whether its messages are the same whatever the payload; a dry run then shows none of the payload's values. */
  readonly hasFixedMessage?: boolean;
}

/** Keeps the schema's own type, from which the type of the configuration is derived. */
export function triggerType<Schema extends z.ZodType>(
  record: TriggerTypeRecord<z.output<Schema>> & { readonly config: Schema },
): TriggerTypeRecord<z.output<Schema>> & { readonly config: Schema } {
  return record;
}

/** The destination of the secret that these fields name; `at` is their place in the configuration. */
export function destination(fields: SecretFields, at: string, place: Place): Destination {
  const { secret_ref: name, vault_secret_id } = fields;
  return name === undefined
    ? { ...place, secret: { vault_secret_id: vault_secret_id ?? '' }, field: `${at}.vault_secret_id` }
    : { ...place, secret: name, field: `${at}.secret_ref` };
}
