import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { queryOf } from '../argument-text.js';
import type { Tool } from '../tool.js';

export const llmTools: readonly Tool[] = [
  {
    name: 'call_llm',
    title: 'Call a model',
    description:
      'Use for one answer of a model without an agent. Give query and a model id, or auto. Returns the text with usage and cost. list_models names the models.',
    operation: 'llm.public-call',
    omit: ['stream'],
    hints: 'O',
  },
  {
    name: 'list_models',
    title: 'List models',
    description:
      'Use to choose a model. Returns the models of the plan with tier, context size, price and whether a key for the vendor exists.',
    operation: 'llm.models',
    hints: 'R',
  },
  {
    name: 'get_quota',
    title: 'Get the quota',
    description:
      'Use to see how many tokens of the month are left. Returns limit, used, remaining and the date of the reset.',
    operation: 'quota.read',
    hints: 'R',
  },
];

const reports = [
  'metrics',
  'usage-by-hour',
  'sessions',
  'cache',
  'loopgraph',
  'graph',
  'call-sources',
] as const;

export const telemetryTools: readonly Tool[] = [
  {
    name: 'get_telemetry_dashboard',
    title: 'Telemetry dashboard',
    description:
      'Use first when asked how things are going. Returns a summary of calls, errors, cache, fallbacks and top models of a range. get_telemetry_report goes deeper.',
    operation: 'telemetry.dashboard',
    hints: 'R',
  },
  {
    name: 'get_telemetry_report',
    title: 'One telemetry report',
    description:
      'Use for one report by name: metrics, usage-by-hour, sessions, cache, loopgraph (steps of executions), graph (which agent calls what), call-sources.',
    operation: 'telemetry.metrics',
    hints: 'R',
    arguments: {
      report: { type: 'string', enum: [...reports], description: 'The name of the report.' },
      start_date: { type: 'string', description: 'ISO 8601 date, or date and time; most reports need it.' },
      end_date: { type: 'string', description: 'ISO 8601 date, or date and time; a date includes its day.' },
      agent_id: { type: 'string', format: 'uuid', description: 'For all but cache and call-sources.' },
      hours: { type: 'integer', minimum: 1, description: 'For usage-by-hour.' },
      limit: { type: 'integer', minimum: 1, description: 'For sessions.' },
    },
    required: ['report'],
    omit: ['provider', 'model', 'status'],
    output: {
      type: 'object',
      properties: { success: { const: true }, data: {} },
      required: ['success'],
    },
    run: (call, input, args) => {
      const report = z.enum(reports).safeParse(args['report']);
      if (!report.success) throw invalidField('report', `must be one of ${reports.join(', ')}`);
      const query = queryOf(args, ['start_date', 'end_date', 'agent_id', 'hours', 'limit']);
      return call.operation(`telemetry.${report.data}`, { ...input, query });
    },
  },
  {
    name: 'list_telemetry_logs',
    title: 'List model calls',
    description:
      'Use to find single model calls by time, agent, vendor, model or status. Returns pages of calls with tokens, latency and failure.',
    operation: 'telemetry.logs',
    hints: 'R',
  },
];
