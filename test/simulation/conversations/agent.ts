import type { RunnableAgent } from '../../../src/agents/index.js';
import { agentDocument } from '../../../src/agents/document.js';
import { schemaDocument } from '../../../src/agents/schemas/document.js';

/** `book` must not be called twice, `look` may. */
const tools = [
  ['book', 'POST'],
  ['look', 'GET'],
] as const;

const document = agentDocument.parse({
  name: 'simulated',
  llm_config: { model: 'openai.gpt-4.1-mini' },
  metadata: { memory: { window_messages: 10 } },
});

export const simulatedAgent: RunnableAgent = {
  id: '00000000-0000-4000-8000-0000000000aa',
  version: 1,
  snapshot: {
    ...document,
    commercial_name: document.commercial_name ?? document.name,
    schemas: tools.map(([name, method], place) => ({
      id: `00000000-0000-4000-8000-0000000000b${place}`,
      ...schemaDocument.parse({
        type: 'api',
        name,
        editor_schema: { api: { method, url: 'https://tools.example/' } },
      }),
      tools: null,
    })),
  },
  rateLimit: null,
  allowedUsers: new Set(),
  approved: null,
};
