import { randomUUID } from 'node:crypto';
import type { AgentsSubject } from '../../agents/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  authorFrom,
  continuesOwnSessionsOnly,
  isReservedName,
} from '../../conversations/invocation/index.js';
import { redactDeep } from '../../infra/diagnostics/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { emptyTwiml, type Rendered, renderSync } from '../outbox/replies/formats.js';
import type { PlainTexts } from '../outbox/replies/plain-texts.js';
import { syncAnswer } from '../outbox/replies/sync-answer.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import { parseTriggerConfig, type TriggerConfig } from '../triggers/config/trigger-config.js';
import { type WebhookConfig, webhookConfig } from '../triggers/config/webhook-config.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { repliesOutOfBand } from '../outbox/delivery-content.js';
import type { InboxRunner } from '../inbox/inbox-runner.js';
import { messagesOf } from '../intake/channels.js';
import { type MappedContext, mappedContext } from '../triggers/mapped-context.js';
import { memberFinder } from '../intake/members.store.js';
import { type ReadMessage, readMessage, readQuery } from '../intake/read-message.js';
import { checkSender } from '../intake/sender-access.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import { textOf } from '../../infra/expressions/index.js';
import { fillText } from '../triggers/templates.js';
import type { Triggers } from './triggers.js';
import type { TriggerRow } from '../triggers/triggers.store.js';

export interface TriggerDryRunParts {
  readonly store: Store;
  readonly triggers: Pick<Triggers, 'get'>;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly agents: Pick<AgentsSubject, 'publishedAgent'>;
  readonly gates: SenderBlocks;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  readonly plainTexts: PlainTexts;
  readonly runner: Pick<InboxRunner, 'run'>;
}

export interface DryRun {
  readonly query: string | null;
  readonly context: MappedContext;
  /** Null if every message starts a session of its own. */
  readonly session_id: string | null;
  readonly would_run: boolean;
  readonly blocked_by?: 'disabled' | 'agent' | 'payload' | 'sender_access' | 'denylist' | 'session';
  /** The response the sender would get, with a placeholder for the agent's text. */
  readonly response_preview: unknown;
}

const previewText = '[the agent’s answer]';
const valueCharsMax = 2_000;

/** Runs of triggers by hand: a dry run, or a real one. */
export class TriggerDryRun {
  readonly #parts: TriggerDryRunParts;

  constructor(parts: TriggerDryRunParts) {
    this.#parts = parts;
  }

  /** Calls no model and writes nothing. */
  async test(scope: TenantScope, id: string, payload: unknown): Promise<DryRun> {
    const row = await this.#parts.triggers.get(scope, id);
    const parsed = parseTriggerConfig(row.trigger_type, row.config);
    if (parsed.type !== 'webhook') return this.#testSource(scope, row, parsed, payload);
    const { config } = parsed;
    const message = config.channel === undefined ? undefined : messagesOf(config.channel.type, payload)[0];
    let read: ReadMessage;
    try {
      read = readMessage(row.agent_id, config, payload, message);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      const context = mappedContext(config.context_mapping, payload);
      return {
        query: null,
        context,
        session_id: null,
        would_run: false,
        blocked_by: 'payload',
        response_preview: error.message,
      };
    }
    const query = await this.#queryOrNull(scope, config, read);
    const blockedBy =
      (await this.#closedReason(scope, row)) ??
      (await this.#closedGate(scope, config, read)) ??
      (query === null ? ('payload' as const) : undefined);
    const gate = blockedBy === 'sender_access' || blockedBy === 'denylist' || blockedBy === 'session';
    return {
      query,
      context: redactDeep(read.sources.context) as MappedContext,
      session_id: read.sessionId ?? null,
      would_run: blockedBy === undefined,
      ...(blockedBy === undefined ? {} : { blocked_by: blockedBy }),
      response_preview: shown(gate ? emptyTwiml : previewOf(row, config)),
    };
  }

  /** Runs the trigger now; the payload becomes the agent's context. */
  async invoke(caller: TenantCaller, id: string, payload: JsonObject, requestId: string): Promise<Rendered> {
    const { scope } = caller;
    // A trigger of another tenant is reported as not found.
    await this.#parts.triggers.get(scope, id);
    const trigger = await this.#parts.live.get(id);
    if (trigger === undefined) throw new PlatformError('not_found');
    if (!trigger.enabled) throw new PlatformError('trigger_disabled');
    if ((await this.#parts.agents.publishedAgent(scope, trigger.agentId)) === undefined) {
      throw new PlatformError('agent_not_found');
    }
    const { parsed, agentId } = trigger;
    const executionId = randomUUID();
    const turn = await this.#parts.runner.run({
      scope,
      triggerId: id,
      executionId,
      sessionId: sessionOrNew(agentId, parsed, payload),
      work: {
        message: await this.#messageOf(scope, parsed, payload),
        context: contextOf(parsed, payload),
        requestId,
        ...(caller.kind === 'key' ? { keyId: caller.keyId } : { userId: caller.userId }),
      },
      row: undefined,
      invokedBy: { author: authorFrom(caller), ownSessionsOnly: continuesOwnSessionsOnly(caller) },
      attempts: 1,
      ageMs: 0,
    });
    const ids = { triggerId: id, agentId, executionId };
    const config = parsed.type === 'webhook' ? parsed.config : plainWebhook;
    return syncAnswer({ scope, plainTexts: this.#parts.plainTexts }, config, ids, turn);
  }

  async #messageOf(scope: TenantScope, parsed: TriggerConfig, payload: JsonObject): Promise<string> {
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
        const read = { sources: { context: {}, payload, message: undefined } };
        // If the payload has no message where the trigger looks for one, the payload itself is the message.
        return (await this.#queryOrNull(scope, parsed.config, read)) ?? JSON.stringify(payload);
      }
    }
  }

  async #queryOrNull(
    scope: TenantScope,
    config: WebhookConfig,
    { sources }: Pick<ReadMessage, 'sources'>,
  ): Promise<string | null> {
    try {
      return await readQuery(scope, config, sources, this.#parts.expressions);
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'VALIDATION_ERROR') return null;
      throw error;
    }
  }

  async #closedReason(scope: TenantScope, row: TriggerRow): Promise<'disabled' | 'agent' | undefined> {
    if (!row.enabled) return 'disabled';
    const agent = await this.#parts.agents.publishedAgent(scope, row.agent_id);
    return agent === undefined ? 'agent' : undefined;
  }

  async #closedGate(
    scope: TenantScope,
    config: WebhookConfig,
    { consumerKey, sessionId }: ReadMessage,
  ): Promise<'sender_access' | 'denylist' | 'session' | undefined> {
    const { store, gates } = this.#parts;
    const sender = await checkSender(config.sender_access, consumerKey, memberFinder(store, scope));
    if (!sender.allowed) return 'sender_access';
    if (await gates.isDenied(scope, consumerKey)) return 'denylist';
    return sessionId !== undefined && (await gates.isTakenOver(scope, sessionId)) ? 'session' : undefined;
  }

  async #testSource(
    scope: TenantScope,
    row: TriggerRow,
    parsed: TriggerConfig,
    payload: unknown,
  ): Promise<DryRun> {
    const given = typeof payload === 'object' && payload !== null ? (payload as JsonObject) : {};
    const blockedBy = await this.#closedReason(scope, row);
    return {
      query: await this.#messageOf(scope, parsed, given),
      context: contextOf(parsed, parsed.type === 'schedule' ? {} : given),
      session_id: null,
      would_run: blockedBy === undefined,
      ...(blockedBy === undefined ? {} : { blocked_by: blockedBy }),
      response_preview: null,
    };
  }
}

/** Manual runs of other trigger types respond like a webhook without settings. */
const plainWebhook = webhookConfig.parse({});

/** The mapped names, and every scalar of the payload itself. */
function contextOf(parsed: TriggerConfig, payload: JsonObject): MappedContext {
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
  return { ...Object.fromEntries(own.slice(0, 50)), ...mapped };
}

function sessionOrNew(agentId: string, parsed: TriggerConfig, payload: JsonObject): string {
  if (parsed.type !== 'webhook') return randomUUID();
  try {
    return readMessage(agentId, parsed.config, payload, undefined).sessionId ?? randomUUID();
  } catch (error) {
    // A payload without the fields that sessions are derived from starts a session of its own.
    if (error instanceof PlatformError) return randomUUID();
    throw error;
  }
}

function previewOf({ id, agent_id }: TriggerRow, config: WebhookConfig): Rendered {
  const executionId = '00000000-0000-0000-0000-000000000000';
  if (config.execution.message_buffer.enabled) {
    return acknowledgement(config.execution, () => ({}), { success: true, status: 'buffered', buffered: 1 });
  }
  if (repliesOutOfBand(config)) {
    return acknowledgement(config.execution, () => ({}), {
      success: true,
      execution_id: executionId,
      status: 'accepted',
    });
  }
  return renderSync(config.response_adapter.format, {
    success: true,
    triggerId: id,
    agentId: agent_id,
    executionId,
    text: previewText,
    chunks: [previewText],
    totalTokens: 0,
    latencyMs: 0,
  });
}

function shown({ contentType, body }: Rendered): unknown {
  return contentType.startsWith('application/json') ? JSON.parse(body) : body;
}
