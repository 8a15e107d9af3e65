import { z } from 'zod';
import { budgetShape } from '../kernel/budget.js';
import { invalidField } from '../kernel/errors.js';
import { responseFormatShape } from '../models/response-format/index.js';
import { named, type JsonObject, mergePatch, validate } from '../http/operations/index.js';

export const agentTypes = ['assistant', 'chatbot', 'workflow', 'classifier', 'data_analyst'] as const;

const metadataBytesMax = 64 * 1024;

export const agentName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
    error: "must be 1 to 100 letters, digits, '_', '.' or '-', the first a letter or digit",
  })
  .describe('Unique in the tenant, without regard to case, among agents that are not archived.');
const modelId = z
  .string()
  .max(200)
  .regex(/^\S+$/, { error: 'must be `auto` or the id of a model, such as `vendor.model`' });

const llmFields = {
  model: modelId.describe('`auto` or the id of a model, `<vendor>.<model>`.'),
  temperature: z.number().min(0).max(2),
  max_tokens: z.int().min(1).max(1_000_000),
  system_prompt: z.string().max(100_000),
  fallback_models: z.array(modelId).max(10).describe('Used in this order when the model fails.'),
  max_tool_rounds: z.int().min(1).max(64),
  response_format: responseFormatShape,
};

const fields = {
  commercial_name: z.string().min(1).max(255).describe('The name that users see. Default: `name`.'),
  bio: z.string().max(10_000),
  type: z.enum(agentTypes),
  tags: z.array(z.string().min(1).max(64)).max(50),
  visibility: z.enum(['tenant']),
  quick_replies_enabled: z.boolean().describe('Whether the agent may suggest replies.'),
  chat_enabled: z.boolean().describe('Whether the agent is available in the native chat channel.'),
};

/** The fields of `metadata` that the platform reads. All other fields belong to the tenant. */
const metadata = z
  .looseObject({
    memory: z
      .looseObject({
        enabled: z.boolean().optional(),
        window_messages: z.int().min(1).max(1_000).optional(),
        summarize_after: z.int().min(1).max(10_000).optional(),
      })
      .optional(),
    budget: budgetShape.nullish(),
    intent_check: z.enum(['local', 'model']).optional(),
    security_policy: z.looseObject({ child_timeout_ms: z.int().min(1).max(600_000).optional() }).optional(),
  })
  .describe(`Any JSON object of at most ${metadataBytesMax} bytes.`);

/** The complete content of an agent, as stored, versioned and returned. */
export const agentDocument = z.object({
  name: agentName,
  ...fields,
  commercial_name: fields.commercial_name.optional(),
  bio: fields.bio.default(''),
  type: fields.type.default('assistant'),
  llm_config: z
    .object({
      ...llmFields,
      model: llmFields.model.default('auto'),
      temperature: llmFields.temperature.default(0.7),
      max_tokens: llmFields.max_tokens.optional(),
      system_prompt: llmFields.system_prompt.optional(),
      fallback_models: llmFields.fallback_models.optional(),
      max_tool_rounds: llmFields.max_tool_rounds.default(8),
      response_format: llmFields.response_format.optional(),
    })
    .prefault({}),
  metadata: metadata.default({}),
  tags: fields.tags.default([]),
  visibility: fields.visibility.default('tenant'),
  quick_replies_enabled: fields.quick_replies_enabled.default(true),
  chat_enabled: fields.chat_enabled.default(true),
});

export type AgentDocument = z.output<typeof agentDocument> & { readonly commercial_name: string };

/** The stored form, in which every default is filled in. */
export const storedDocument = agentDocument.transform(withCommercialName);

function nullish(all: Readonly<Record<string, z.ZodType>>) {
  return Object.fromEntries(Object.entries(all).map(([key, field]) => [key, field.nullish()]));
}

/**
 * The form in which clients send an agent. Null means "left out".
 */
const given = {
  ...nullish(fields),
  llm_config: z.object(nullish(llmFields)).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
};

export const newAgent = named('NewAgent', z.object({ name: agentName, ...given }));
export const agentPatch = named(
  'AgentPatch',
  z
    .object({ name: agentName.optional(), ...given })
    .describe('A JSON Merge Patch (RFC 7396). Null resets a field to its default.'),
);

/** Applies a patch to a document; an empty document gives a new agent. */
export function patchedDocument(document: JsonObject, patch: JsonObject): AgentDocument {
  const merged = validate(agentDocument, mergePatch(document, patch)) as z.output<typeof agentDocument>;
  const bytes = Buffer.byteLength(JSON.stringify(merged.metadata));
  if (bytes > metadataBytesMax) {
    throw invalidField('metadata', `must have at most ${metadataBytesMax} bytes as JSON, not ${bytes}`);
  }
  return withCommercialName(merged);
}

function withCommercialName(document: z.output<typeof agentDocument>): AgentDocument {
  return { ...document, commercial_name: document.commercial_name ?? document.name };
}
