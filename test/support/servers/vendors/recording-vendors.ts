// One node for a file with OpenAI, Anthropic, Google and OpenRouter as recording servers, and the vendors' own clients of it.
import Anthropic from '@anthropic-ai/sdk';
import type { TestFn } from 'ava';
import OpenAI from 'openai';
import { openAiAt, startVendor } from '../../clients/direct-calls.js';
import type { TenantNode } from '../node.js';
import { sharedNode, type SharedNode } from '../shared-node.js';
import { AnthropicServer } from './anthropic-server.js';
import { GeminiServer } from './gemini-server.js';
import { OpenAiServer } from './openai-server.js';

export interface RecordingVendors {
  readonly shared: SharedNode;
  readonly chat: OpenAiServer;
  readonly messages: AnthropicServer;
  readonly gemini: GeminiServer;
  /** The platform has no key for it: a tenant that adds its own one calls it. */
  readonly router: OpenAiServer;
}

/** Each test finds the servers as they began, so the tests of the file run one after the other. */
export function recordingVendors<Context>(test: TestFn<Context>): RecordingVendors {
  const [chat, messages, gemini] = [new OpenAiServer(), new AnthropicServer(), new GeminiServer()];
  const router = new OpenAiServer('openrouter');
  const all = [chat, messages, gemini, router];
  test.serial.beforeEach('the vendors forget', () => {
    for (const vendor of all) vendor.forget();
  });
  const shared = sharedNode(test, async (atEnd) => {
    for (const vendor of all) await startVendor(atEnd, vendor);
    return {
      environment: {
        ...openAiAt(chat),
        ANTHROPIC_API_KEY: 'sk-ant-platform',
        ANTHROPIC_BASE_URL: messages.baseUrl,
        GEMINI_API_KEY: 'gemini-platform',
        GEMINI_BASE_URL: gemini.baseUrl,
        OPENROUTER_BASE_URL: router.baseUrl,
      },
    };
  });
  return { shared, chat, messages, gemini, router };
}

/** The unmodified clients, with nothing changed but the address and the key. */
export const clients = {
  openai: ({ node, bootstrap }: TenantNode): OpenAI =>
    new OpenAI({ apiKey: bootstrap.api_key, baseURL: `${node.baseUrl}/v1`, maxRetries: 0 }),
  anthropic: ({ node, bootstrap }: TenantNode): Anthropic =>
    new Anthropic({ apiKey: bootstrap.api_key, baseURL: node.baseUrl, maxRetries: 0 }),
};
