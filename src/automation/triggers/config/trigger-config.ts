import type { z } from 'zod';
import { z as schemas } from 'zod';
import type { Egress } from '../../../infra/egress/index.js';
import {
  isJsonObject,
  type JsonObject,
  mergePatch,
  refuseUnknownFields,
  validate,
} from '../../../http/operations/index.js';
import { type Destination, type Place, placeOfUrl } from '../../../tenancy/vault/index.js';
import { sampleAddress } from '../templates.js';
import type { SecretFields } from './fields.js';
import {
  type DatabaseEventConfig,
  databaseEventConfig,
  type EmailConfig,
  emailConfig,
  isTlsFromTheStart,
  type ScheduleConfig,
  scheduleConfig,
} from './source-configs.js';
import { type WebhookConfig, webhookConfig } from './webhook-config.js';

export const triggerTypes = ['webhook', 'email', 'db_event', 'schedule'] as const;
export type TriggerType = (typeof triggerTypes)[number];

/** A validated configuration with every default filled in. */
export type TriggerConfig =
  | { readonly type: 'webhook'; readonly config: WebhookConfig }
  | { readonly type: 'email'; readonly config: EmailConfig }
  | { readonly type: 'db_event'; readonly config: DatabaseEventConfig }
  | { readonly type: 'schedule'; readonly config: ScheduleConfig };

export const configSchemas = {
  webhook: webhookConfig,
  email: emailConfig,
  db_event: databaseEventConfig,
  schedule: scheduleConfig,
} as const satisfies Record<TriggerType, z.ZodType>;

/** Refuses names that nobody reads, at every depth; a stored configuration is not checked again. */
export function refuseUnknownSettings(type: TriggerType, given: JsonObject): void {
  refuseUnknownFields(schemas.object({ trigger_config: configSchemas[type] }), { trigger_config: given });
}

/** Throws `validation_error` with the field, such as `trigger_config.execution.split_config.max_chunks`. */
export function parseTriggerConfig(type: TriggerType, given: JsonObject): TriggerConfig {
  const wrapped = schemas.object({ trigger_config: configSchemas[type] });
  const { trigger_config: config } = validate(wrapped, { trigger_config: given }) as {
    trigger_config: unknown;
  };
  return { type, config } as TriggerConfig;
}

/** Treats null settings as absent. In bodies that are sent verbatim, null stays a value. */
export function withoutNulls(given: JsonObject): JsonObject {
  const config = mergePatch({}, given);
  const written = within(given, 'execution');
  const run = within(config, 'execution');
  if (written === undefined || run === undefined) return config;
  const execution = {
    ...run,
    ...withValue(run, 'callback', 'body_template', within(written, 'callback')),
    ...withValue(run, 'ack_response', 'body', within(written, 'ack_response')),
  };
  return { ...config, execution };
}

function withValue(
  run: JsonObject,
  holder: string,
  name: string,
  written: JsonObject | undefined,
): JsonObject {
  const value = written?.[name];
  return value === undefined || value === null ? {} : { [holder]: { ...within(run, holder), [name]: value } };
}

function within(object: JsonObject, name: string): JsonObject | undefined {
  const value = object[name];
  return isJsonObject(value) ? value : undefined;
}

/** The base URLs of the channel vendors: their own, unless the operator configured others. */
export interface ChannelAddresses {
  readonly twilio: string;
  readonly whatsapp_cloud: string;
  readonly slack: string;
}

/** The destinations of all secrets that the configuration uses. */
export function destinationsOf(
  { type, config }: TriggerConfig,
  channels: ChannelAddresses,
): readonly Destination[] {
  const found: Destination[] = [];
  if (type === 'email' && config.imap !== undefined) {
    found.push(destination(config.imap, 'trigger_config.imap', placeOfMailbox(config.imap)));
  }
  const channel = type === 'webhook' ? config.channel : undefined;
  if (channel?.auth !== undefined) {
    const place = placeOfUrl(new URL(channels[channel.type]));
    found.push(destination(channel.auth, 'trigger_config.channel.auth', place));
  }
  const { callback } = config.execution;
  if (callback !== undefined && callback.auth.type !== 'none') {
    const place = placeOfUrl(new URL(sampleAddress(callback.url)));
    found.push(destination(callback.auth, 'trigger_config.execution.callback.auth', place));
  }
  return found;
}

/** Without TLS from the start, STARTTLS runs before the password is sent, except on the local machine. */
function placeOfMailbox(imap: NonNullable<EmailConfig['imap']>): Place {
  const { host, port } = imap;
  return { scheme: isTlsFromTheStart(imap) ? 'imaps' : 'imap+starttls', host, port };
}

function destination(fields: SecretFields, at: string, place: Place): Destination {
  const { secret_ref: name, vault_secret_id } = fields;
  return name === undefined
    ? { ...place, secret: { vault_secret_id: vault_secret_id ?? '' }, field: `${at}.vault_secret_id` }
    : { ...place, secret: name, field: `${at}.secret_ref` };
}

/** Refuses URLs and headers that outbound requests may not use, naming the field. */
export function checkOutbound(
  { type, config }: TriggerConfig,
  egress: Pick<Egress, 'checkUrl' | 'checkHost' | 'checkHeaders'>,
): void {
  if (type === 'email' && config.imap !== undefined) {
    egress.checkHost(config.imap.host, config.imap.port, 'trigger_config.imap.host');
  }
  const { callback } = config.execution;
  if (callback === undefined) return;
  const at = 'trigger_config.execution.callback';
  egress.checkUrl(sampleAddress(callback.url), `${at}.url`);
  if (callback.auth.type === 'api_key')
    egress.checkHeaders({ [callback.auth.header]: '' }, `${at}.auth.header`);
}
