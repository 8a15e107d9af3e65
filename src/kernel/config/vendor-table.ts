import { address, listOf, type Setting, setting, text } from './setting.js';

function json(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new Error('is not valid JSON');
  }
}

/** The settings of model vendors. */
export const vendorTable = {
  openaiKey: setting('OPENAI_API_KEY', "the platform's OpenAI key", 'sk-…', text, { secret: true }),
  openaiKeys: setting(
    'OPENAI_API_KEYS',
    'several OpenAI keys of the platform, comma-separated; calls are spread over them',
    'sk-…,sk-…',
    listOf(text),
    { secret: true },
  ),
  openaiBaseUrl: setting(
    'OPENAI_BASE_URL',
    'URL of the OpenAI API, with /v1',
    'https://api.openai.com/v1',
    address('http', 'https'),
  ),
  anthropicKey: setting('ANTHROPIC_API_KEY', "the platform's Anthropic key", 'sk-ant-…', text, {
    secret: true,
  }),
  anthropicKeys: setting(
    'ANTHROPIC_API_KEYS',
    'several Anthropic keys of the platform, comma-separated; calls are spread over them',
    'sk-ant-…,sk-ant-…',
    listOf(text),
    { secret: true },
  ),
  anthropicBaseUrl: setting(
    'ANTHROPIC_BASE_URL',
    'URL of the Anthropic API',
    'https://api.anthropic.com',
    address('http', 'https'),
  ),
  geminiKey: setting('GEMINI_API_KEY', "the platform's Google key", 'AIza…', text, { secret: true }),
  geminiKeys: setting(
    'GEMINI_API_KEYS',
    'several Google keys of the platform, comma-separated; calls are spread over them',
    'AIza…,AIza…',
    listOf(text),
    { secret: true },
  ),
  geminiBaseUrl: setting(
    'GEMINI_BASE_URL',
    'URL of the Gemini API',
    'https://generativelanguage.googleapis.com',
    address('http', 'https'),
  ),
  xaiKey: setting('XAI_API_KEY', "the platform's xAI key", 'xai-…', text, { secret: true }),
  xaiKeys: setting(
    'XAI_API_KEYS',
    'several xAI keys of the platform, comma-separated; calls are spread over them',
    'xai-…,xai-…',
    listOf(text),
    { secret: true },
  ),
  xaiBaseUrl: setting(
    'XAI_BASE_URL',
    'URL of the xAI API, with /v1',
    'https://api.x.ai/v1',
    address('http', 'https'),
  ),
  openrouterKey: setting('OPENROUTER_API_KEY', "the platform's OpenRouter key", 'sk-or-…', text, {
    secret: true,
  }),
  openrouterKeys: setting(
    'OPENROUTER_API_KEYS',
    'several OpenRouter keys of the platform, comma-separated; calls are spread over them',
    'sk-or-…,sk-or-…',
    listOf(text),
    { secret: true },
  ),
  openrouterBaseUrl: setting(
    'OPENROUTER_BASE_URL',
    'URL of the OpenRouter API, with /api/v1',
    'https://openrouter.ai/api/v1',
    address('http', 'https'),
  ),
  compatibleVendors: setting(
    'OPENAI_COMPATIBLE_VENDORS',
    'further vendors with an OpenAI-compatible API, as a JSON array',
    '[{"name":"local","base_url":"http://127.0.0.1:11434/v1","models":["llama3"]}]',
    json,
    { secret: true },
  ),
  vendorsFile: setting(
    'TROUPE_VENDORS_FILE',
    'file that adds vendors on Azure OpenAI, Amazon Bedrock and Vertex AI',
    './vendors.json',
    text,
  ),
} as const satisfies Record<string, Setting<unknown>>;
