import type { LlmRequest, WireRequest } from '../contract.js';
import { isRecord } from '../reply-json.js';
import type { VendorModel } from '../vendor.js';
import type { ChatDialect } from './dialect.js';

/**
 * The caller's own body, field by field, with what the platform decides: the model, the largest bound of the output,
 * and that the stream ends with the usage.
 */
export function passedChatBody(
  wire: WireRequest,
  request: LlmRequest,
  model: VendorModel,
  dialect: ChatDialect,
): Readonly<Record<string, unknown>> {
  const body: Record<string, unknown> = { ...wire.body, model: model.name };
  for (const bound of ['max_tokens', 'max_completion_tokens']) {
    const given = body[bound];
    if (typeof given === 'number') body[bound] = Math.min(given, model.maxOutputTokens);
  }
  if (dialect.maxTokensField === 'max_tokens') {
    // The newer name is OpenAI's alone. Without a value it is no bound, and the older one stays.
    if (typeof body['max_completion_tokens'] === 'number') body['max_tokens'] = body['max_completion_tokens'];
    delete body['max_completion_tokens'];
  }
  if (request.stream && dialect.asksForUsage) {
    const asked = isRecord(body['stream_options']) ? body['stream_options'] : {};
    body['stream_options'] = {
      ...(dialect.vendor === 'openai' && { include_obfuscation: false }),
      ...asked,
      include_usage: true,
    };
  }
  return body;
}
