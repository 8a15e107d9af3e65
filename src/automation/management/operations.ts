import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import {
  cursorOfCreated,
  declare,
  done,
  doneShape,
  isJsonObject,
  list,
  listShape,
  one,
  oneShape,
  type Operation,
  optionalCursorOf,
  optionalLimit,
  optionalPage,
  optionalPageShape,
  pageAsked,
  pageQuery,
  queryFlag,
  tenantCaller,
  tenantUser,
  givenGuid,
  givenUuid,
} from '../../http/operations/index.js';
import {
  createdAnswer,
  secretName,
  triggerAnswer,
  triggerAnswerOf,
  triggerAnswersOf,
  webhookUrlOf,
} from './responses.js';
import { servedReply } from '../outbox/replies/raw-reply.js';
import { anyConfig } from '../triggers/config/fields.js';
import { describedTypes } from '../triggers/config/trigger-config.js';
import { takesRequests, triggerTypes } from '../triggers/types/registry.js';
import { newTriggerExample, shownNewTrigger, shownTrigger } from './shown-triggers.js';
import { shownInvocation } from './webhook-shapes.js';
import { blockReasons, type TriggerDryRun } from './dry-run.js';
import type { ManualRuns } from './manual-runs.js';
import type { Triggers } from './triggers.js';

export interface TriggerOperationParts {
  readonly triggers: Triggers;
  readonly dryRuns: TriggerDryRun;
  readonly manualRuns: ManualRuns;
  readonly publicUrl: () => string;
  readonly time: Pick<Time, 'wallMs' | 'soon'>;
}

export const triggerParams = z.object({ id: givenUuid });
const name = z.string().trim().min(1).max(255);
const dayMs = 24 * 3_600_000;

export function triggerOperations(parts: TriggerOperationParts): readonly Operation[] {
  return [...reading(parts), ...writing(parts), ...switching(parts), ...trying(parts)];
}

function reading({ triggers, publicUrl, time }: TriggerOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'triggers.list',
      method: 'GET',
      path: '/api/triggers',
      title: 'List triggers',
      description:
        'Newest first. All are answered unless `limit` or `cursor` is given, or together they have more than 8 MB: then `next_cursor` continues the list.',
      access: tenantCaller('triggers:read'),
      query: pageQuery.extend({
        agent_id: givenGuid.optional(),
        trigger_type: z.enum(triggerTypes).optional(),
        enabled: queryFlag.optional(),
      }),
      output: optionalPageShape(triggerAnswer),
      shown: { output: optionalPageShape(shownTrigger) },
      handle: async ({ caller, query }) => {
        const limit = optionalLimit(query);
        const filter = {
          agentId: query.agent_id,
          type: query.trigger_type,
          enabled: query.enabled,
          after: pageAsked(query).after,
        };
        const found = await triggers.list(caller.scope, filter, limit);
        const answers = await triggerAnswersOf(found.rows, { publicUrl, time });
        return optionalPage(answers, optionalCursorOf(found, limit, cursorOfCreated));
      },
    }),
    declare({
      name: 'triggers.get',
      method: 'GET',
      path: '/api/triggers/:id',
      title: 'One trigger',
      access: tenantCaller('triggers:read'),
      params: triggerParams,
      output: oneShape(triggerAnswer),
      shown: { output: oneShape(shownTrigger) },
      handle: async ({ caller, params }) => {
        const answer = triggerAnswerOf(await triggers.get(caller.scope, params.id), { publicUrl, time });
        const source = await triggers.source(caller.scope, params.id);
        return one(source === null ? answer : { ...answer, source });
      },
    }),
    declare({
      name: 'triggers.types',
      method: 'GET',
      path: '/api/triggers/types',
      title: 'What can be a trigger',
      access: tenantCaller('triggers:read'),
      output: listShape(
        z.object({
          type: z.enum(triggerTypes),
          title: z.string(),
          description: z.string(),
          config_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of `trigger_config`.'),
        }),
      ),
      handle: () => list(describedTypes()),
    }),
  ];
}

function writing({ triggers, publicUrl, time }: TriggerOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'triggers.create',
      method: 'POST',
      audit: 'triggers.create',
      idempotency: 'made',
      path: '/api/triggers',
      title: 'Create a trigger',
      description: 'The response is the only place that shows the secret of a webhook or a callback.',
      access: tenantUser('triggers:create'),
      body: z.object({
        agent_id: givenGuid,
        name,
        trigger_type: z.enum(triggerTypes),
        trigger_config: anyConfig.default({}),
      }),
      output: createdAnswer,
      shown: { body: shownNewTrigger({ agent_id: givenGuid, name }), bodyExample: newTriggerExample },
      status: 201,
      errors: ['agent_not_found', 'conflict'],
      handle: async ({ caller, body, secretsTo }) => {
        const { row, secret } = await triggers.create(caller, body, secretsTo);
        const { id, agent_id, name: called, trigger_type, enabled } = row;
        return {
          success: true as const,
          data: {
            id,
            agent_id,
            name: called,
            trigger_type,
            ...secret,
            enabled,
          },
          ...(takesRequests(trigger_type) ? { webhook_url: webhookUrlOf(publicUrl(), id) } : {}),
        };
      },
    }),
    declare({
      name: 'triggers.update',
      method: 'PATCH',
      audit: 'triggers.update',
      path: '/api/triggers/:id',
      title: 'Change a trigger',
      description:
        'A JSON Merge Patch (RFC 7396), which also applies inside `trigger_config`. A trigger that gets its first callback ' +
        'gets the secret that signs it; the response is the only place that shows it.',
      access: tenantUser('triggers:update'),
      params: triggerParams,
      body: z.object({
        agent_id: givenGuid.optional(),
        name: name.optional(),
        trigger_type: z.enum(triggerTypes).optional(),
        trigger_config: anyConfig.optional(),
        enabled: z.boolean().optional(),
      }),
      output: oneShape(triggerAnswer),
      shown: {
        bodyExample: { trigger_config: { execution: { timeout_ms: 60_000 } } },
        output: oneShape(shownTrigger),
      },
      errors: ['agent_not_found'],
      handle: async ({ caller, params, body, secretsTo }) => {
        const { row, secret } = await triggers.update(caller, params.id, body, secretsTo);
        return one({ ...triggerAnswerOf(row, { publicUrl, time }), ...secret });
      },
    }),
    declare({
      name: 'triggers.delete',
      method: 'DELETE',
      audit: 'triggers.delete',
      path: '/api/triggers/:id',
      title: 'Delete a trigger',
      description: 'Running turns continue, but their answers cannot be sent. Waiting messages are dropped.',
      access: tenantUser('triggers:delete'),
      params: triggerParams,
      output: doneShape,
      handle: async ({ caller, params }) => {
        await triggers.delete(caller, params.id);
        return done('The trigger was deleted.');
      },
    }),
    declare({
      name: 'triggers.rotate-secret',
      method: 'POST',
      audit: 'triggers.rotate-secret',
      idempotency: 'made',
      path: '/api/triggers/:id/rotate-secret',
      title: 'Give a trigger a new secret',
      description:
        'The new secret is shown only here. The previous secret stays valid until the grace time ends.',
      access: tenantUser('secrets:write'),
      params: triggerParams,
      body: z.object({
        grace_seconds: z
          .int()
          .min(0)
          .max(30 * 86_400)
          .optional(),
      }),
      output: oneShape(
        z.object({
          id: z.uuid(),
          webhook_secret: z.string().optional(),
          webhook_secret_ref: secretName,
          former_valid_until: z.iso.datetime(),
        }),
      ),
      errors: ['conflict'],
      handle: async ({ caller, params, body, secretsTo }) => {
        const graceMs = body.grace_seconds === undefined ? dayMs : body.grace_seconds * 1_000;
        const { row, secret } = await triggers.rotateSecret(caller, params.id, graceMs, secretsTo);
        return one({
          id: row.id,
          ...secret,
          former_valid_until: (row.former_secret_until ?? row.updated_at).toISOString(),
        });
      },
    }),
  ];
}

function switching({ triggers, publicUrl, time }: TriggerOperationParts): readonly Operation[] {
  return ([true, false] as const).map((enabled) =>
    declare({
      name: enabled ? 'triggers.enable' : 'triggers.disable',
      method: 'POST',
      audit: enabled ? 'triggers.enable' : 'triggers.disable',
      sets: { enabled },
      idempotency: { exempt: 'a repeat changes nothing' },
      path: enabled ? '/api/triggers/:id/enable' : '/api/triggers/:id/disable',
      title: enabled ? 'Switch a trigger on' : 'Switch a trigger off',
      access: tenantUser('triggers:update'),
      params: triggerParams,
      output: oneShape(triggerAnswer),
      shown: { output: oneShape(shownTrigger) },
      handle: async ({ caller, params }) =>
        one(triggerAnswerOf(await triggers.setEnabled(caller, params.id, enabled), { publicUrl, time })),
    }),
  );
}

function trying({ dryRuns, manualRuns }: TriggerOperationParts): readonly Operation[] {
  return [
    declare({
      name: 'triggers.test',
      method: 'POST',
      audit: { exempt: 'a dry run that changes nothing' },
      path: '/api/triggers/:id/test',
      title: 'See what a payload would lead to',
      description: 'Runs the checks of a message on its first message. Calls no model and writes nothing.',
      access: tenantUser('triggers:update'),
      params: triggerParams,
      body: z.object({ payload: z.unknown().optional() }),
      output: oneShape(
        z.object({
          query: z.string().nullable(),
          context: z.record(z.string(), z.unknown()),
          session_id: z.string().nullable(),
          would_run: z.boolean(),
          blocked_by: z.enum(blockReasons).optional(),
          response_preview: z.unknown(),
        }),
      ),
      handle: async ({ caller, params, body }) =>
        one(await dryRuns.test(caller.scope, params.id, body.payload ?? {})),
    }),
    declare({
      name: 'triggers.invoke',
      method: 'POST',
      audit: { exempt: 'turns leave no entry; the execution is their record', entries: 'never' },
      idempotency: 'ids',
      path: '/api/triggers/:id/invoke',
      title: 'Run a trigger now',
      description: 'The payload becomes the agent’s context. The response is that of a webhook in sync mode.',
      access: tenantCaller('executions:create'),
      rate: 'model-work',
      dialect: 'invocation',
      params: triggerParams,
      body: z.looseObject({ message: z.string().max(200_000).optional() }),
      output: z.unknown(),
      shown: shownInvocation,
      errors: ['agent_not_found', 'trigger_disabled', 'validation_error', 'quota_exceeded'],
      handle: async ({ caller, params, body, requestId, repeat }) => {
        const payload = isJsonObject(body) ? body : {};
        const request = { requestId, seed: repeat?.seed };
        return servedReply(await manualRuns.invoke(caller, params.id, payload, request));
      },
    }),
  ];
}
