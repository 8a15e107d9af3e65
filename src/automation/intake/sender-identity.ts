import {
  consumerKeyCharactersMax,
  derivedSessionId,
  normalIdentity,
  normalPhone,
  type SessionField,
} from '../../conversations/invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import { textOf } from '../../infra/expressions/index.js';
import { valueAt } from '../triggers/templates.js';
import type { ChannelMessage } from './channels.js';
import type { MappedContext } from '../triggers/mapped-context.js';

/** Where a webhook's configured names are looked up: the mapped context first, then the payload. */
export interface Sources {
  readonly context: MappedContext;
  readonly payload: unknown;
  readonly message: ChannelMessage | undefined;
}

export function lookUp(name: string, { context, payload, message }: Sources): unknown {
  if (Object.hasOwn(context, name)) return context[name];
  return valueAt(payload, name) ?? (message === undefined ? undefined : valueAt(message.fields, name));
}

/**
 * The sender's identity in its stored spelling; undefined if the message names none. A long one is refused: cut, two
 * people whose identities begin alike would share memory and sessions.
 */
export function consumerKeyOf(config: WebhookConfig, sources: Sources): string | undefined {
  const { identity_field: field } = config.sender_access;
  const named = field === undefined ? '' : textOf(lookUp(field, sources));
  const key = field !== undefined && named !== '' ? spelled(field, named) : (sources.message?.sender ?? '');
  if (key.length > consumerKeyCharactersMax) {
    throw new PlatformError('validation_error', {
      message: `The sender's identity has ${key.length} characters; at most ${consumerKeyCharactersMax} are allowed.`,
      details: {
        field: field ?? 'sender',
        issue: `must have at most ${consumerKeyCharactersMax} characters`,
      },
    });
  }
  return key === '' ? undefined : key;
}

const phoneNames: ReadonlySet<string> = new Set(['phoneNumber', '_waId', 'From']);

function spelled(field: string, value: string): string {
  return phoneNames.has(field.split('.').at(-1) ?? '') ? normalPhone(value) : normalIdentity(value);
}

/** A thread's name is no phone number, whatever its digits: as one, threads of different channels would be the same. */
function conversationOf(message: ChannelMessage | undefined): SessionField {
  const thread = message?.conversation;
  return thread === undefined ? { name: 'From', value: message?.sender } : { name: 'thread', value: thread };
}

/**
 * The session of the message; undefined for `ephemeral`, where every message starts one. Without configured fields, a
 * channel's session is derived from the sender.
 */
export function sessionOf(agentId: string, config: WebhookConfig, sources: Sources): string | undefined {
  const { mode, fields } = config.session_strategy;
  if (mode === 'ephemeral') return undefined;
  const given: SessionField[] =
    fields === undefined
      ? [conversationOf(sources.message)]
      : fields.map((name) => ({ name, value: lookUp(name, sources) }));
  const id = derivedSessionId(agentId, given);
  if (id !== undefined) return id;
  throw new PlatformError('validation_error', {
    message: 'None of the fields that trigger_config.session_strategy names has a value in the payload.',
    details: { field: 'session_strategy.fields', issue: 'none of them has a value' },
  });
}
