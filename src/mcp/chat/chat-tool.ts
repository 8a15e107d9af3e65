import type { Tool } from '../tools/tool.js';

const flat = {
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
} as const;

/** The turn of a chat as a tool. `run-chat.ts` runs it: it reports progress, and can be joined and cancelled. */
export const chatTool: Tool = {
  name: 'chat_with_agent',
  title: 'Chat with an agent',
  description:
    'Use to send a message to an agent and wait for its answer. Returns the text, session_id and execution_id. Pass session_id to continue the conversation; read it later with get_session.',
  operation: 'agents.stream',
  hints: 'O',
  params: { id: 'agent_id' },
  omit: ['cancel_on_disconnect'],
  arguments: {
    agent_id: { type: 'string', format: 'uuid', description: 'The agent; see list_agents.' },
    message: {
      type: 'string',
      minLength: 1,
      description: 'The message to the agent. Required without attachments.',
    },
    session_id: {
      type: 'string',
      format: 'uuid',
      description: 'The conversation to continue; without it a new one begins.',
    },
    consumer_key: { type: 'string', description: 'The person who writes. Needs a key of an owner or admin.' },
    context: { ...flat, description: 'Data that the agent reads. Needs a key of an owner or admin.' },
    bindings: {
      ...flat,
      description: 'Arguments for tools that the agent never sees. Needs a key of an owner or admin.',
    },
    session_from: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 5,
      description:
        'Names of fields of context or bindings that give the conversation. Needs a key of an owner or admin.',
    },
    metadata: { ...flat, description: 'Data for finding the execution later; the agent never sees it.' },
    attachments: {
      type: 'array',
      maxItems: 10,
      items: {
        type: 'object',
        properties: {
          type: { type: 'string', enum: ['image', 'file'] },
          url: { type: 'string', description: 'Where the platform fetches the content.' },
          data: { type: 'string', description: 'The content in base64, instead of url.' },
          media_type: { type: 'string' },
          name: { type: 'string' },
        },
        required: ['type'],
      },
      description: 'Images and files of at most 5 MB each. With one, message may be left out.',
    },
    options: {
      type: 'object',
      properties: {
        timeout_ms: { type: 'number', description: 'Shortens the limit of the turn.' },
        response_format: {
          type: 'object',
          description: 'The JSON Schema that the answer must fit. Needs a key of an owner or admin.',
        },
      },
      description: 'Options of the turn.',
    },
  },
  output: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      parsed: { description: 'The text as a value, if it had to fit a schema.' },
      session_id: { type: 'string' },
      execution_id: { type: 'string' },
      outcome: {
        type: 'string',
        enum: ['COMPLETED', 'TIMEOUT', 'CANCELLED', 'FAILED', 'BLOCKED', 'SUSPENDED'],
      },
      timed_out: { type: 'boolean' },
      timeout_clock: { type: ['string', 'null'], description: 'The limit that ended the turn.' },
      accepted_fields: { type: 'array', items: { type: 'string' } },
      ignored_fields: {
        type: 'array',
        items: {
          type: 'object',
          properties: { field: { type: 'string' }, reason: { type: 'string' } },
          required: ['field', 'reason'],
        },
      },
      usage: {
        type: ['object', 'null'],
        properties: {
          input_tokens: { type: 'integer' },
          output_tokens: { type: 'integer' },
          total_tokens: { type: 'integer' },
        },
      },
    },
    required: [
      'text',
      'session_id',
      'execution_id',
      'outcome',
      'timed_out',
      'timeout_clock',
      'accepted_fields',
      'ignored_fields',
      'usage',
    ],
  },
};
