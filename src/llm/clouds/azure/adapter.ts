import { chatAdapter } from '../../chat-dialect/adapter.js';
import { chatUsage } from '../../chat-dialect/usage.js';
import { stopsMax } from '../../sent-stops.js';
import type { VendorAdapter } from '../../vendor.js';

/**
 * Azure OpenAI speaks OpenAI's chat completions and names models by deployment. With a version of the interface the
 * deployment stands in the path; without one the newer interface is used, where it stands in the body.
 */
export function azureAdapter(vendor: string, apiVersion: string | undefined): VendorAdapter {
  const chat = chatAdapter({
    vendor,
    maxTokensField: 'max_completion_tokens',
    asksForUsage: true,
    sendsReasoningEffort: true,
    stopsMax: stopsMax.openai,
    billsCutStreams: false,
    modelsPath: apiVersion === undefined ? '/openai/v1/models' : `/openai/models?api-version=${apiVersion}`,
    toUsage: chatUsage,
  });
  return {
    ...chat,
    toRequest: (request, model) => ({
      ...chat.toRequest(request, model),
      path:
        apiVersion === undefined
          ? '/openai/v1/chat/completions'
          : `/openai/deployments/${encodeURIComponent(model.name)}/chat/completions?api-version=${apiVersion}`,
    }),
    authorization: (secret) => (secret === undefined ? {} : { 'api-key': secret }),
  };
}
