import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Expressions } from '../../infra/expressions/index.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import type { ChannelMessage } from './channels.js';
import type { Sources } from './sender-identity.js';
import { mappedContext } from '../triggers/mapped-context.js';
import { queryOf } from './query.js';

/** Where the names of a trigger's configuration are looked up in a message. */
export function sourcesOf(
  config: WebhookConfig,
  payload: unknown,
  message: ChannelMessage | undefined,
): Sources {
  const from = message?.payload ?? payload;
  return { context: mappedContext(config.context_mapping, from), payload: from, message };
}

/** The question for the agent: a channel's own text, unless the trigger configures another source. */
export function readQuery(
  scope: TenantScope,
  config: WebhookConfig,
  { payload, message }: Sources,
  expressions: Pick<Expressions, 'evaluate'>,
  mayBeEmpty = false,
): Ready<string> {
  const { query_extraction: extraction } = config;
  if (extraction === undefined && message !== undefined) {
    return queryOf(scope, { mode: 'field', field: 'text' }, { text: message.text }, expressions, mayBeEmpty);
  }
  return queryOf(scope, extraction ?? { mode: 'field', field: 'message' }, payload, expressions, mayBeEmpty);
}
