import type { AgentsSubject } from '../../agents/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { redactDeep } from '../../infra/diagnostics/index.js';
import type { Expressions } from '../../infra/expressions/index.js';
import { isJsonObject } from '../../http/operations/index.js';
import type { CheckedMessage, ArrivedMessage } from '../intake/incoming-request.js';
import type { Stopped, Survey } from '../intake/pipeline/check-list.js';
import { readinessChecks } from '../intake/pipeline/request-checks.js';
import { errorOf, type StopReason } from '../intake/pipeline/stop.js';
import type { WebhookCheckName, WebhookChecks } from '../intake/pipeline/webhook-checks.js';
import { repliesOutOfBand } from '../outbox/delivery-content.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import { emptyTwiml, type Rendered, renderSync } from '../outbox/replies/formats.js';
import type { LiveTrigger, LiveTriggers } from '../triggers/live-triggers.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import type { MappedContext } from '../triggers/mapped-context.js';
import { recordOf, takesRequests } from '../triggers/types/registry.js';
import { givenContext, givenMessage } from './given-payload.js';
import type { Triggers } from './triggers.js';

export const blockReasons = [
  'disabled',
  'agent',
  'payload',
  'repeat',
  'sender_access',
  'denylist',
  'session',
  'quota',
] as const;

type BlockReason = (typeof blockReasons)[number];

/** What a dry run calls the check that stops a message. The first two stop it with their own error. */
const reasonAt: Record<Exclude<WebhookCheckName, 'trigger' | 'authentication'>, BlockReason> = {
  address: 'quota',
  enabled: 'disabled',
  agent: 'agent',
  payload: 'payload',
  messages: 'payload',
  key: 'payload',
  repeat: 'repeat',
  context: 'payload',
  session: 'payload',
  sender: 'sender_access',
  sender_access: 'sender_access',
  denylist: 'denylist',
  text: 'payload',
  session_control: 'session',
  query: 'payload',
  rate: 'quota',
  tokens: 'quota',
};

export interface DryRunParts {
  readonly triggers: Pick<Triggers, 'get'>;
  readonly live: Pick<LiveTriggers, 'fresh'>;
  readonly agents: Pick<AgentsSubject, 'publishedAgent'>;
  readonly expressions: Pick<Expressions, 'evaluate'>;
  /** The checks that webhooks take. */
  readonly checks: WebhookChecks;
}

export interface DryRun {
  readonly query: string | null;
  readonly context: MappedContext;
  /** Null if every message starts a session of its own. */
  readonly session_id: string | null;
  readonly would_run: boolean;
  readonly blocked_by?: BlockReason;
  /** The response the sender would get, with a placeholder for the agent's text. */
  readonly response_preview: unknown;
}

/** What the checks find in the first message of a request. */
type Looked = Pick<Survey<CheckedMessage, WebhookCheckName>, 'stopped'> & {
  readonly found: Partial<CheckedMessage>;
};

const previewText = '[the agent’s answer]';

/** Shows what a payload would lead to: the checks of a message, without accepting it. */
export class TriggerDryRun {
  readonly #parts: DryRunParts;

  constructor(parts: DryRunParts) {
    this.#parts = parts;
  }

  /** Calls no model and writes nothing. */
  async test(scope: TenantScope, id: string, payload: unknown): Promise<DryRun> {
    // A trigger of another tenant is reported as not found.
    const { trigger_type: type } = await this.#parts.triggers.get(scope, id);
    if (!takesRequests(type)) return this.#testSource(scope, id, payload);
    const { stopped, found } = await this.#look(id, payload);
    const { trigger, config } = found;
    if (trigger === undefined || config === undefined) {
      throw stopped === undefined ? new PlatformError('not_found') : errorOf(stopped.stop);
    }
    return {
      query: found.query ?? null,
      context: redactDeep(found.sources?.context ?? {}) as MappedContext,
      session_id: found.derivedSession ?? null,
      ...outcomeOf(stopped),
      response_preview: stopped === undefined ? previewOf(trigger, config) : answerTo(stopped.stop.reason),
    };
  }

  async #look(triggerId: string, payload: unknown): Promise<Looked> {
    const { checks } = this.#parts;
    const request = await checks.request.look({ triggerId, request: requestWith(payload) });
    if (request.complete === undefined) return request;
    const { messages, more: _, ...admitted } = request.complete;
    const message = await checks.message.look({ ...admitted, message: messages[0] });
    return { stopped: request.stopped ?? message.stopped, found: message.found };
  }

  async #testSource(scope: TenantScope, id: string, payload: unknown): Promise<DryRun> {
    const { live, agents, expressions } = this.#parts;
    const given = isJsonObject(payload) ? payload : {};
    const trigger = await live.fresh(id);
    if (trigger === undefined) throw new PlatformError('not_found');
    const { parsed } = trigger;
    const { stopped } = await readinessChecks(agents).look({ trigger });
    return {
      query: await givenMessage(expressions, scope, parsed, given),
      context: givenContext(parsed, recordOf(parsed.type).hasFixedMessage === true ? {} : given),
      session_id: null,
      ...outcomeOf(stopped),
      response_preview: null,
    };
  }
}

/** The request that a sender of this payload makes. */
function requestWith(payload: unknown): ArrivedMessage['request'] {
  return {
    body: Buffer.from(JSON.stringify(payload)),
    headers: { 'content-type': 'application/json' },
    urls: () => [],
    address: '',
    requestId: '',
  };
}

function outcomeOf(stopped: Stopped<WebhookCheckName> | undefined): Pick<DryRun, 'would_run' | 'blocked_by'> {
  if (stopped === undefined) return { would_run: true };
  const { at, stop } = stopped;
  if (at === 'trigger' || at === 'authentication') throw errorOf(stop);
  return { would_run: false, blocked_by: reasonAt[at] };
}

function answerTo(reason: StopReason): unknown {
  switch (reason.kind) {
    case 'refused':
    case 'unreadable':
      return reason.error.message;
    case 'ignored':
      return shown(reason.answer);
    case 'repeated':
      return reason.answer === undefined ? null : shown(reason.answer);
    case 'blocked':
      return shown(emptyTwiml);
  }
}

function previewOf({ id, agentId }: LiveTrigger, config: WebhookConfig): unknown {
  return shown(responseOf(id, agentId, config));
}

function responseOf(id: string, agentId: string, config: WebhookConfig): Rendered {
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
    agentId,
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
