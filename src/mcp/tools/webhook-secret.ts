import type { Answer, ToolCall } from './tool.js';

/**
 * The answer of a tool enters a model's context, so a webhook's new secret goes into the vault instead, and the
 * answer names it there. Whoever may create the trigger may do so.
 */
export async function storeWebhookSecret(call: ToolCall, answer: Answer): Promise<Answer> {
  const data = answer['data'];
  if (typeof data !== 'object' || data === null || !('webhook_secret' in data) || !('id' in data))
    return answer;
  const { webhook_secret: value, ...rest } = data as Readonly<Record<string, unknown>>;
  const name = webhookSecretName(String(rest['id']));
  await call.keepSecret(name, String(value));
  return { ...answer, data: { ...rest, webhook_secret_ref: name } };
}

function webhookSecretName(triggerId: string): string {
  return `webhook-${triggerId}`;
}
