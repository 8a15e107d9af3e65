import { isJsonObject } from '../../../http/operations/index.js';
import { invalidField } from '../../../kernel/errors.js';
import { queryOf } from '../argument-text.js';
import type { Tool } from '../tool.js';

const trigger = { params: { id: 'trigger_id' } } as const;

export const triggerTools: readonly Tool[] = [
  {
    name: 'list_triggers',
    title: 'List triggers',
    description:
      'Use to find what starts agents: webhooks, mail, schedules, database events. Returns triggers newest first; pass next_cursor as cursor for more.',
    operation: 'triggers.list',
    hints: 'R',
  },
  {
    name: 'get_trigger',
    title: 'Get a trigger',
    description:
      'Use to read one trigger with its configuration, the next runs of a schedule and the last error of its source. Secrets are not shown.',
    operation: 'triggers.get',
    hints: 'R',
    ...trigger,
  },
  {
    name: 'create_trigger',
    title: 'Create a trigger',
    description:
      'Use to start an agent by webhook, mail, schedule or database event. Read platform://schemas/trigger-… first. A webhook’s secret goes into the vault; the answer names it. Then call test_trigger.',
    operation: 'triggers.create',
    hints: '',
    output: createdTrigger(),
  },
  {
    name: 'update_trigger',
    title: 'Change a trigger',
    description:
      'Use to change a trigger; fields that you leave out keep their values, also inside trigger_config. The secret of a first callback goes into the vault; the answer names it. Then call test_trigger.',
    operation: 'triggers.update',
    hints: 'I',
    ...trigger,
  },
  {
    name: 'enable_trigger',
    title: 'Switch a trigger on',
    description: 'Use to let a trigger run again. Returns the trigger.',
    operation: 'triggers.enable',
    hints: 'I',
    ...trigger,
  },
  {
    name: 'disable_trigger',
    title: 'Switch a trigger off',
    description:
      'Use to stop a trigger without losing it. New messages are refused from now on. enable_trigger brings it back.',
    operation: 'triggers.disable',
    hints: 'I',
    ...trigger,
  },
  {
    name: 'test_trigger',
    title: 'Dry run of a trigger',
    description:
      'Use to see what a payload would lead to: message, context, session, and what would block it. Calls no model and writes nothing. invoke_trigger runs it for real.',
    operation: 'triggers.test',
    hints: 'R',
    ...trigger,
  },
  {
    name: 'invoke_trigger',
    title: 'Run a trigger now',
    description:
      'Use to run a trigger for real with a payload as context. Returns the answer that a caller of the webhook would get. Look it up later with list_trigger_executions.',
    operation: 'triggers.invoke',
    hints: 'O',
    ...trigger,
    arguments: {
      message: { type: 'string', description: 'The message to the agent; without it the trigger’s own.' },
      payload: { type: 'object', description: 'The payload; its fields become the context of the turn.' },
    },
    output: {
      type: 'object',
      properties: {
        status: { type: 'integer', description: 'The HTTP status that a webhook would answer.' },
        content_type: { type: 'string' },
        body: { description: 'The answer: parsed where it is JSON, else its text.' },
      },
      required: ['status', 'content_type', 'body'],
    },
    run: (call, input, { message, payload = {} }) => {
      if (!isJsonObject(payload)) throw invalidField('payload', 'must be an object');
      const body = { ...payload, ...(message === undefined ? {} : { message }) };
      return call.operation('triggers.invoke', { ...input, body });
    },
  },
  {
    name: 'get_trigger_stats',
    title: 'Statistics of triggers',
    description:
      'Use to find failing or slow triggers. Returns executions, success rate and latency of each and of all; pass next_cursor as cursor for more. Then call list_trigger_executions with status failed.',
    operation: 'triggers.stats',
    hints: 'R',
    arguments: {
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Triggers in a page; 50 by default.' },
      cursor: { type: 'string', description: 'The next_cursor of the page before.' },
    },
    output: triggerStats(),
    run: async (call, input, args) => {
      const all = await call.operation('triggers.stats', input);
      const query = queryOf(args, ['limit', 'cursor']);
      const page = await call.operation('triggers.list', { ...input, query });
      const triggers: unknown[] = [];
      // One after the other: a page of counts must not take all connections of the store.
      for (const { id, name, trigger_type, enabled } of page['data'] as readonly ShownTrigger[]) {
        const one = await call.operation('triggers.stats-of', { ...input, params: { id } });
        triggers.push({ id, name, trigger_type, enabled, ...withSuccessRate(one['data'] as OwnStats) });
      }
      return { ...all, triggers, next_cursor: page['next_cursor'] ?? null };
    },
  },
  {
    name: 'list_trigger_executions',
    title: 'List executions of a trigger',
    description:
      'Use to see what a trigger did, newest first, filtered by status. Then call get_trigger_execution for the reason of a failure.',
    operation: 'triggers.executions',
    hints: 'R',
    ...trigger,
  },
  {
    name: 'get_trigger_execution',
    title: 'Get an execution of a trigger',
    description:
      'Use to learn why one execution went as it did: payload, merged messages, turn, answer, delivery attempts. Dead deliveries are sent again with replay_dead_letter.',
    operation: 'triggers.execution',
    hints: 'R',
    params: { id: 'trigger_id', executionId: 'execution_id' },
  },
  {
    name: 'delete_trigger',
    title: 'Delete a trigger',
    description:
      'Use to remove a trigger for good. Waiting messages are dropped; running turns go on, but their answers are not sent. To pause it, call disable_trigger.',
    operation: 'triggers.delete',
    adminClass: 'delete',
    hints: 'DI',
    ...trigger,
  },
];

interface ShownTrigger {
  readonly id: string;
  readonly name: string;
  readonly trigger_type: string;
  readonly enabled: boolean;
}

interface OwnStats {
  readonly executions: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly avg_latency_ms: number;
}

function withSuccessRate({ executions, avg_latency_ms }: OwnStats) {
  const rate = (100 * executions.completed) / Math.max(1, executions.total);
  return { executions, success_rate_pct: Math.round(rate * 100) / 100, avg_latency_ms };
}

function triggerStats() {
  return {
    type: 'object',
    properties: {
      success: { const: true },
      data: { type: 'object', description: 'The figures of all triggers together.' },
      triggers: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            name: { type: 'string' },
            trigger_type: { type: 'string' },
            enabled: { type: 'boolean' },
            executions: {
              type: 'object',
              properties: {
                total: { type: 'integer' },
                completed: { type: 'integer' },
                failed: { type: 'integer' },
              },
              required: ['total', 'completed', 'failed'],
            },
            success_rate_pct: { type: 'number' },
            avg_latency_ms: { type: 'number' },
          },
          required: ['id', 'name', 'executions', 'success_rate_pct', 'avg_latency_ms'],
        },
      },
      next_cursor: { type: ['string', 'null'] },
    },
    required: ['success', 'data', 'triggers', 'next_cursor'],
  };
}

function createdTrigger() {
  return {
    type: 'object',
    properties: {
      success: { const: true },
      data: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          agent_id: { type: 'string' },
          name: { type: 'string' },
          trigger_type: { type: 'string' },
          enabled: { type: 'boolean' },
          webhook_secret_ref: {
            type: 'string',
            description: 'For webhooks: the name of the secret in the vault that holds the signing secret.',
          },
        },
        required: ['id', 'agent_id', 'name', 'trigger_type', 'enabled'],
      },
      webhook_url: { type: 'string' },
    },
    required: ['success', 'data'],
  };
}
