import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import type { ChannelMessage } from './channels.js';
import { consumerKeyOf, sessionOf, type Sources } from './sender-identity.js';
import { mappedContext } from '../triggers/mapped-context.js';
import { queryOf } from './query.js';

/** The sender and session that a payload names, read before the question is extracted. */
export interface ReadMessage {
  readonly sources: Sources;
  readonly consumerKey: string | undefined;
  /** Undefined if every message starts a session. */
  readonly sessionId: string | undefined;
}

export function readMessage(
  agentId: string,
  config: WebhookConfig,
  payload: unknown,
  message: ChannelMessage | undefined,
): ReadMessage {
  const from = message?.payload ?? payload;
  const sources = { context: mappedContext(config.context_mapping, from), payload: from, message };
  return {
    sources,
    consumerKey: consumerKeyOf(config, sources),
    sessionId: sessionOf(agentId, config, sources),
  };
}

/** The question for the agent: a channel's own text, unless the trigger configures another source. */
export function readQuery(
  scope: TenantScope,
  config: WebhookConfig,
  { payload, message }: Sources,
  expressions: Pick<Expressions, 'evaluate'>,
): Ready<string> {
  const { query_extraction: extraction } = config;
  if (extraction === undefined && message !== undefined) {
    return queryOf(scope, { mode: 'field', field: 'text' }, { text: message.text }, expressions);
  }
  return queryOf(scope, extraction ?? { mode: 'field', field: 'message' }, payload, expressions);
}
