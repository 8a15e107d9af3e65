import { z } from 'zod';
import {
  declare,
  one,
  oneShape,
  type Operation,
  optionalCursorOf,
  optionalLimit,
  optionalPage,
  optionalPageShape,
  pageQuery,
  queryFlag,
  tenantUser,
  givenGuid,
  givenUuid,
} from '../http/operations/index.js';
import type { Agents } from './agents.js';
import { type AgentFilter, type AgentRow, statuses } from './agents.store.js';
import { agentDetail, agentSummary, createdAgent, detailOf, summaryOf } from './responses.js';
import { type Author, authorOf } from './author.js';
import { agentName, agentPatch, agentTypes, newAgent } from './document.js';
import { answerOf, issueAnswer } from './issues.js';
import { type ModelChecks, modelWarnings } from './models.js';
import type { PublishConfig, Publishing } from './publishing.js';

const agentParams = z.object({ id: givenUuid });
const paging = {
  limit: pageQuery.shape.limit,
  cursor: givenGuid.optional(),
};

const publishBody = z.object({
  config: z
    .object({
      rate_limit: z.int().min(1).max(1_000_000).nullish().describe('Turns per minute.'),
      allowed_users: z
        .array(givenGuid)
        .max(1_000)
        .nullish()
        .describe('Ids of the users who may chat with the agent. Empty: every user who may chat.'),
    })
    .nullish()
    .describe('Omitted fields keep their values from the last publication.'),
});

const agentExample = {
  name: 'support',
  commercial_name: 'Support',
  bio: 'Answers questions about orders.',
  llm_config: { model: 'auto', system_prompt: 'You help customers with their orders. Be brief.' },
  tags: ['orders'],
};

const listed = optionalPageShape(agentSummary);

/** An agent of another tenant returns 404, and so does an unpublished agent for a member. */
const one404 = { params: agentParams, absent: 'agent_not_found' } as const;

export interface AgentOperationParts {
  readonly agents: Agents;
  readonly publishing: Publishing;
  readonly models: ModelChecks | undefined;
  readonly duplicate: (author: Author, id: string, name: string | undefined) => Promise<AgentRow>;
}

export function agentOperations(parts: AgentOperationParts): readonly Operation[] {
  return [
    ...readingOperations(parts.agents),
    ...writingOperations(parts),
    ...publishingOperations(parts),
    ...archiveOperations(parts.publishing),
  ];
}

function readingOperations(agents: Agents): readonly Operation[] {
  return [
    declare({
      name: 'agents.list',
      method: 'GET',
      path: '/api/agents',
      title: 'List agents',
      description:
        'Newest first. Returns all agents unless `limit` or `cursor` is given, or together they have more than 8 MB: then `next_cursor` continues the list. Members see only published agents.',
      access: tenantUser('agents:read'),
      query: z.object({
        status: z.enum(statuses).optional(),
        type: z.enum(agentTypes).optional(),
        includeArchived: queryFlag.optional(),
        budgeted: queryFlag.optional().describe('Only agents with a budget.'),
        createdBy: givenGuid.optional(),
        ...paging,
      }),
      output: listed,
      handle: ({ caller, query: { limit, cursor, ...filter } }) =>
        answerList(agents, authorOf(caller), { ...filter, after: cursor, limit }),
    }),
    declare({
      name: 'agents.list-published',
      method: 'GET',
      path: '/api/agents/published',
      title: 'List published agents',
      access: tenantUser('agents:read'),
      query: z.object({ type: z.enum(agentTypes).optional(), createdBy: givenGuid.optional(), ...paging }),
      output: listed,
      handle: ({ caller, query: { limit, cursor, ...filter } }) =>
        answerList(agents, authorOf(caller), { ...filter, status: 'published', after: cursor, limit }),
    }),
    declare({
      name: 'agents.get',
      method: 'GET',
      path: '/api/agents/:id',
      title: 'Get one agent',
      description:
        'Members see only published agents, in their published version. Other roles see the working copy.',
      access: tenantUser('agents:read'),
      ...one404,
      output: oneShape(agentDetail),
      handle: async ({ caller, params }) => one(detailOf(await agents.get(authorOf(caller), params.id))),
    }),
  ];
}

function writingOperations({ agents, duplicate }: AgentOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'agents.create',
      method: 'POST',
      audit: 'agents.create',
      idempotency: 'made',
      path: '/api/agents',
      title: 'Create a draft agent',
      access: tenantUser('agents:create'),
      body: newAgent,
      shown: { bodyExample: agentExample },
      output: oneShape(createdAgent),
      status: 201,
      errors: ['conflict'],
      handle: async ({ caller, body }) => {
        const { id, document } = await agents.create(authorOf(caller), body);
        return one({ id, name: document.name, status: 'draft' as const });
      },
    }),
    declare({
      name: 'agents.update',
      method: 'PATCH',
      audit: 'agents.update',
      path: '/api/agents/:id',
      title: 'Change an agent',
      description:
        'A JSON Merge Patch (RFC 7396) of the working copy. A published agent keeps running its published version.',
      access: tenantUser('agents:update'),
      ...one404,
      body: agentPatch,
      shown: { bodyExample: { llm_config: { temperature: 0.2 }, tags: ['orders'] } },
      output: oneShape(agentDetail),
      errors: ['conflict'],
      handle: async ({ caller, params, body }) =>
        one(detailOf(await agents.update(authorOf(caller), params.id, body))),
    }),
    declare({
      name: 'agents.duplicate',
      method: 'POST',
      audit: 'agents.duplicate',
      idempotency: 'made',
      path: '/api/agents/:id/duplicate',
      title: 'Copy an agent with its schemas into a new draft',
      access: tenantUser('agents:create'),
      ...one404,
      body: z.object({
        name: agentName
          .nullish()
          .describe('By default the name with `-copy`, and a number if that is taken.'),
      }),
      output: oneShape(agentDetail),
      status: 201,
      errors: ['conflict'],
      handle: async ({ caller, params, body }) =>
        one(detailOf(await duplicate(authorOf(caller), params.id, body.name ?? undefined))),
    }),
  ];
}

function publishingOperations({ publishing, models }: AgentOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'agents.validate',
      method: 'POST',
      audit: { exempt: 'a check that changes nothing' },
      path: '/api/agents/:id/validate',
      title: 'Check what would prevent the publication of an agent',
      description: 'Checks every schema and asks every MCP server for its tools. Changes nothing.',
      access: tenantUser('agents:update'),
      ...one404,
      output: oneShape(
        z.object({
          valid: z.boolean(),
          issues: z.array(issueAnswer),
          warnings: z.array(issueAnswer).describe('Reasons for which a turn would be refused at present.'),
        }),
      ),
      handle: async ({ caller, params, signal }) => {
        const { agent, issues } = await publishing.validate(authorOf(caller), params.id, signal);
        const warnings =
          models === undefined
            ? []
            : await modelWarnings(models, caller.scope, caller.limits, agent.document);
        return one({
          valid: issues.length === 0,
          issues: issues.map(answerOf),
          warnings: warnings.map(answerOf),
        });
      },
    }),
    declare({
      name: 'agents.publish',
      method: 'POST',
      audit: 'agents.publish',
      idempotency: 'made',
      path: '/api/agents/:id/publish',
      title: 'Publish an agent',
      description: 'Checks every schema, stores a snapshot as a new version, and publishes that version.',
      access: tenantUser('agents:publish'),
      ...one404,
      body: publishBody,
      output: oneShape(agentDetail),
      errors: ['conflict', 'validation_error'],
      handle: async ({ caller, params, body: { config }, signal }) =>
        one(detailOf(await publishing.publish(authorOf(caller), params.id, limitsOf(config), signal))),
    }),
    declare({
      name: 'agents.unpublish',
      method: 'POST',
      audit: 'agents.unpublish',
      idempotency: { exempt: 'a repeat changes nothing' },
      path: '/api/agents/:id/unpublish',
      title: 'Unpublish an agent',
      description: 'The agent becomes a draft again. Its versions are kept.',
      access: tenantUser('agents:publish'),
      ...one404,
      output: oneShape(agentDetail),
      errors: ['conflict'],
      handle: async ({ caller, params }) =>
        one(detailOf(await publishing.unpublish(authorOf(caller), params.id))),
    }),
  ];
}

function archiveOperations(publishing: Publishing): readonly Operation[] {
  return [
    declare({
      name: 'agents.archive',
      method: 'DELETE',
      audit: 'agents.archive',
      path: '/api/agents/:id',
      title: 'Archive an agent',
      description: 'The agent accepts no more turns and can be restored. Its name becomes free.',
      access: tenantUser('agents:delete'),
      ...one404,
      output: oneShape(agentDetail),
      handle: async ({ caller, params }) =>
        one(detailOf(await publishing.archive(authorOf(caller), params.id))),
    }),
    declare({
      name: 'agents.restore',
      method: 'POST',
      audit: 'agents.restore',
      idempotency: { exempt: 'only an archived agent is restored, and a repeat is told so' },
      path: '/api/agents/:id/restore',
      title: 'Restore an archived agent as a draft',
      access: tenantUser('agents:delete'),
      ...one404,
      output: oneShape(agentDetail),
      errors: ['conflict'],
      handle: async ({ caller, params }) =>
        one(detailOf(await publishing.restore(authorOf(caller), params.id))),
    }),
  ];
}

function limitsOf(config: z.output<typeof publishBody>['config']): PublishConfig {
  return { rateLimit: config?.rate_limit, allowedUsers: config?.allowed_users };
}

async function answerList(
  agents: Agents,
  author: Author,
  query: AgentFilter & { readonly limit: number | undefined },
) {
  const { limit: asked, ...filter } = query;
  const limit = optionalLimit({ limit: asked, cursor: filter.after });
  const found = await agents.list(author, filter, limit);
  const nextCursor = optionalCursorOf(found, limit, ({ id }) => id);
  return optionalPage(found.rows.map(summaryOf), nextCursor);
}
