/**
 * Reads the body of a turn: which fields the sender may use, which are ignored and why, and which are refused.
 * Pure, so that every endpoint (stream, MCP) reads alike; it does not know the agent or the session.
 */
import { isUuid } from '../../kernel/uuid.js';
import { invalidField } from '../../kernel/errors.js';
import type { Caller } from '../../kernel/caller.js';
import type { GivenPart } from '../../models/parts/index.js';
import type { GivenResponseFormat } from '../../models/response-format/index.js';
import { type Capabilities, readCapabilities } from './capabilities.js';
import { consumerKeyCharactersMax, displayNameCharactersMax } from './consumer-identity.js';
import { readBindings, readContext, redactFlat } from './declared-context.js';
import type { SessionField } from './derived-session.js';
import { type FlatObject, isEmpty, isObject } from './flat-object.js';
import { type IgnoredField, IgnoredFields } from './ignored-fields.js';
import { readMetadata } from './metadata.js';
import { readSessionFrom } from './session-from.js';
import { readAttachments } from './attachments.js';
import { readOptions } from './turn-options.js';

export interface Invocation {
  /** The names of all body fields that took effect, including `options.timeout_ms`. */
  readonly acceptedFields: readonly string[];
  readonly ignoredFields: readonly IgnoredField[];
  /** Empty if the message has only attachments. */
  readonly message: string;
  /** As given; their content has not been looked at. */
  readonly attachments: readonly GivenPart[];
  /** The schema that the answer must fit; the schema itself is not examined yet. */
  readonly responseFormat: GivenResponseFormat | undefined;
  readonly sessionId: string | undefined;
  /** The fields that `derivedSessionId` takes; never given together with a `sessionId`. */
  readonly derivedFrom: readonly SessionField[] | undefined;
  readonly consumerKey: string | undefined;
  readonly consumerDisplayName: string | undefined;
  /** As declared, including hidden names: for tools. */
  readonly context: FlatObject;
  /** The same with secrets redacted: for storage and for the model. */
  readonly declaredContext: FlatObject;
  /** For tools only; neither stored nor shown. */
  readonly bindings: FlatObject;
  /** With secrets redacted, for storage. */
  readonly metadata: FlatObject;
  readonly traceId: string | undefined;
  readonly capabilities: Capabilities;
  readonly timeoutMs: number | undefined;
}

export interface InvocationPrivileges {
  /**
   * Whether the sender may use the fields of an integration: `context`, `bindings`, `session_from`, `consumer_key`.
   */
  readonly integration: boolean;
}

/** True for an API key of an owner or admin. Never for a JWT: it stands for one person, not for an integration. */
export function privilegesOf(caller: Caller): InvocationPrivileges {
  return { integration: caller.kind === 'key' && (caller.role === 'owner' || caller.role === 'admin') };
}

type Field =
  | 'message'
  | 'session_id'
  | 'consumer_key'
  | 'context'
  | 'bindings'
  | 'session_from'
  | 'metadata'
  | 'attachments'
  | 'consumer_display_name'
  | 'capabilities'
  | 'options';

/** The fields that `/stream` accepts. */
export const streamFields: ReadonlySet<string> = new Set<Field>([
  'message',
  'session_id',
  'consumer_key',
  'context',
  'bindings',
  'session_from',
  'metadata',
  'attachments',
  'consumer_display_name',
  'capabilities',
  'options',
]);

/** The fields that the MCP tool `chat_with_agent` accepts, besides `agent_id`. Blocks cannot be returned this way. */
export const chatToolFields: ReadonlySet<string> = new Set<Field>([
  'message',
  'session_id',
  'consumer_key',
  'context',
  'bindings',
  'session_from',
  'metadata',
  'attachments',
  'options',
]);

const integrationFields: readonly Field[] = ['consumer_key', 'context', 'bindings', 'session_from'];

/** A megabyte of plain text; anything longer is a document, not a message. */
const messageCharactersMax = 1024 * 1024;
const none: FlatObject = Object.freeze({});

export function readInvocation(
  body: unknown,
  privileges: InvocationPrivileges,
  knownFields: ReadonlySet<string> = streamFields,
): Invocation {
  if (!isObject(body)) throw invalidField('body', 'must be an object');
  const ignored = new IgnoredFields();
  const fields = usableFields(body, privileges, knownFields, ignored);
  const read = <Value>(name: Field, reader: (value: unknown) => Value): Value | undefined =>
    fields.has(name) ? reader(fields.get(name)) : undefined;

  const attachments = read('attachments', readAttachments) ?? [];
  const message = readMessage(fields.get('message'), attachments.length > 0);
  const sessionId = read('session_id', readSessionId);
  const consumerKey = read('consumer_key', (value) =>
    readText('consumer_key', value, consumerKeyCharactersMax),
  );
  const context = read('context', (value) => readContext(value, ignored)) ?? none;
  const declaredContext = redactFlat(context);
  const bindings = read('bindings', (value) => readBindings(value, ignored)) ?? none;
  const derivedFrom = read('session_from', (value) => {
    if (sessionId !== undefined)
      throw invalidField('session_from', 'must not be given together with session_id');
    return readSessionFrom(value, { context, bindings, declared: declaredContext });
  });
  const consumerDisplayName = readDisplayName(fields, consumerKey, ignored);
  const { metadata = none, traceId } = read('metadata', (value) => readMetadata(value, ignored)) ?? {};
  const capabilities = read('capabilities', (value) => readCapabilities(value, ignored));
  const { timeoutMs, responseFormat } =
    read('options', (value) => readOptions(value, privileges.integration, ignored)) ?? {};

  const effects: Readonly<Record<string, boolean>> = {
    message: message !== '',
    attachments: attachments.length > 0,
    session_id: sessionId !== undefined,
    consumer_key: consumerKey !== undefined,
    context: !isEmpty(context),
    bindings: !isEmpty(bindings),
    session_from: derivedFrom !== undefined,
    metadata: !isEmpty(metadata),
    consumer_display_name: consumerDisplayName !== undefined,
    capabilities: capabilities?.quickReplies === true,
    'options.timeout_ms': timeoutMs !== undefined,
    'options.response_format': responseFormat !== undefined,
  };
  return {
    acceptedFields: Object.keys(effects).filter((name) => effects[name] === true),
    ignoredFields: ignored.list(),
    message,
    attachments,
    responseFormat,
    sessionId,
    derivedFrom,
    consumerKey,
    consumerDisplayName,
    context,
    declaredContext,
    bindings,
    metadata,
    traceId,
    capabilities: capabilities ?? { quickReplies: false },
    timeoutMs,
  };
}

/** Selects the fields to read. A field that is ignored for lack of privilege is not validated either. */
function usableFields(
  body: Readonly<Record<string, unknown>>,
  { integration }: InvocationPrivileges,
  knownFields: ReadonlySet<string>,
  ignored: IgnoredFields,
): ReadonlyMap<string, unknown> {
  const usable = new Map<string, unknown>();
  for (const [name, value] of Object.entries(body)) {
    if (!knownFields.has(name)) ignored.addUnknown(name, 'unknown_field');
    else if (integration) usable.set(name, value);
    else if (integrationFields.some((field) => field === name)) ignored.add(name, 'requires_admin_api_key');
    // Ignored with `consumer_key`, whose entry already gives the reason.
    else if (name !== 'consumer_display_name') usable.set(name, value);
  }
  return usable;
}

function readMessage(value: unknown, hasAttachments: boolean): string {
  if (hasAttachments && (value === undefined || value === null || value === '')) return '';
  if (value === undefined) throw invalidField('message', 'is required');
  return readText('message', value, messageCharactersMax);
}

function readSessionId(value: unknown): string {
  if (typeof value !== 'string' || !isUuid(value)) throw invalidField('session_id', 'must be a UUID');
  return value.toLowerCase();
}

function readText(field: string, value: unknown, charactersMax: number): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be a text');
  if (value.trim() === '') throw invalidField(field, 'must not be empty');
  if (value.length > charactersMax)
    throw invalidField(field, `must have at most ${charactersMax} characters`);
  return value;
}

/** A display name counts only together with a `consumer_key`. */
function readDisplayName(
  fields: ReadonlyMap<string, unknown>,
  consumerKey: string | undefined,
  ignored: IgnoredFields,
): string | undefined {
  if (!fields.has('consumer_display_name')) return undefined;
  const name = readText(
    'consumer_display_name',
    fields.get('consumer_display_name'),
    displayNameCharactersMax,
  );
  if (consumerKey !== undefined) return name;
  ignored.add('consumer_display_name', 'not_supported');
  return undefined;
}
