import { z } from 'zod';
import {
  closedSchemaOf,
  isJsonObject,
  type JsonObject,
  mergePatch,
  refuseUnknownFields,
  validate,
} from '../../../http/operations/index.js';
import { type Destination, placeOfUrl } from '../../../tenancy/vault/index.js';
import { sampleAddress } from '../templates.js';
import { recordOf, type TriggerConfig, type TriggerType, triggerTypes } from '../types/registry.js';
import { destination, type OutboundCheck } from '../types/trigger-type.js';
import type { ChannelAddresses } from './webhook-config.js';

/** Refuses names that nobody reads, at every depth; a stored configuration is not checked again. */
export function refuseUnknownSettings(type: TriggerType, given: JsonObject): void {
  refuseUnknownFields(z.object({ trigger_config: recordOf(type).config }), { trigger_config: given });
}

/** Throws `validation_error` with the field, such as `trigger_config.execution.split_config.max_chunks`. */
export function parseTriggerConfig(type: TriggerType, given: JsonObject): TriggerConfig {
  const wrapped = z.object({ trigger_config: recordOf(type).config });
  const { trigger_config: config } = validate(wrapped, { trigger_config: given }) as {
    trigger_config: unknown;
  };
  return { type, config } as TriggerConfig;
}

/** The types of trigger for people and models, each with the JSON Schema of its `trigger_config`. */
export function describedTypes() {
  return triggerTypes.map((type) => {
    const { title, description, config } = recordOf(type);
    return { type, title, description, config_schema: { ...closedSchemaOf(config) } };
  });
}

/**
 * Treats null settings as absent. In bodies that are sent verbatim, and for columns that a filter compares, null stays a
 * value.
 */
export function withoutNulls(given: JsonObject): JsonObject {
  const filter = within(given, 'filter');
  const config = { ...mergePatch({}, given), ...(filter === undefined ? {} : { filter }) };
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

/** The destinations of all secrets that the configuration uses. */
export function destinationsOf<Type extends TriggerType>(
  { type, config }: TriggerConfig<Type>,
  channels: ChannelAddresses,
): readonly Destination[] {
  const own = recordOf<Type>(type).destinations?.(config, channels) ?? [];
  const { callback } = config.execution;
  if (callback === undefined || callback.auth.type === 'none') return own;
  const place = placeOfUrl(new URL(sampleAddress(callback.url)));
  return [...own, destination(callback.auth, 'trigger_config.execution.callback.auth', place)];
}

/** Refuses URLs and headers that outbound requests may not use, naming the field. */
export function checkOutbound<Type extends TriggerType>(
  { type, config }: TriggerConfig<Type>,
  egress: OutboundCheck,
): void {
  recordOf<Type>(type).checkOutbound?.(config, egress);
  const { callback } = config.execution;
  if (callback === undefined) return;
  const at = 'trigger_config.execution.callback';
  egress.checkUrl(sampleAddress(callback.url), `${at}.url`);
  if (callback.auth.type === 'api_key')
    egress.checkHeaders({ [callback.auth.header]: '' }, `${at}.auth.header`);
}

/** Refuses, on save, values that the schema alone cannot judge. */
export function checkSettings<Type extends TriggerType>(
  { type, config }: TriggerConfig<Type>,
  nowMs: number,
): void {
  recordOf<Type>(type).checkSettings?.(config, nowMs);
}
