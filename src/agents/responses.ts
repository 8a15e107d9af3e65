import { z } from 'zod';
import { type AgentRow, statuses } from './agents.store.js';
import { storedDocument } from './document.js';
import { budgetShape } from '../kernel/budget.js';
import { named } from '../http/operations/index.js';

const moment = z.iso.datetime();
const document = storedDocument.in.shape;

export const createdAgent = named(
  'CreatedAgent',
  z.object({ id: z.uuid(), name: z.string(), status: z.literal('draft') }),
);

export const agentSummary = named(
  'Agent',
  z.object({
    id: z.uuid(),
    name: z.string(),
    commercial_name: z.string(),
    bio: z.string(),
    type: document.type,
    status: z.enum(statuses),
    llm_config: document.llm_config,
    budget: budgetShape.optional().describe('That of `metadata.budget`; absent without one.'),
    created_at: moment,
    updated_at: moment,
  }),
);

export const agentDetail = named(
  'AgentDetail',
  z.object({
    ...agentSummary.shape,
    metadata: z.record(z.string(), z.unknown()),
    tags: document.tags,
    visibility: document.visibility,
    quick_replies_enabled: z.boolean(),
    chat_enabled: z.boolean(),
    config: z.object({ rate_limit: z.int().nullable(), allowed_users: z.array(z.guid()) }),
    published_version: z
      .int()
      .nullable()
      .describe('The published version; null unless the agent is published.'),
    created_by: z.uuid().nullable(),
  }),
);

export function summaryOf(row: AgentRow): z.input<typeof agentSummary> {
  const { name, commercial_name, bio, type, llm_config, metadata } = row.document;
  const { data: budget } = budgetShape.safeParse(metadata['budget']);
  return {
    id: row.id,
    name,
    commercial_name,
    bio,
    type,
    status: row.status,
    llm_config,
    ...(budget !== undefined && { budget }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function detailOf(row: AgentRow): z.input<typeof agentDetail> {
  const { metadata, tags, visibility, quick_replies_enabled, chat_enabled } = row.document;
  return {
    ...summaryOf(row),
    metadata,
    tags,
    visibility,
    quick_replies_enabled,
    chat_enabled,
    config: { rate_limit: row.rate_limit, allowed_users: row.allowed_users },
    published_version: row.published_version,
    created_by: row.created_by,
  };
}
