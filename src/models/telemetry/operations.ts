import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import {
  anyone,
  declare,
  one,
  oneShape,
  type Operation,
  type OperationRequest,
  tenantUser,
} from '../../http/operations/index.js';
import type { Store } from '../../infra/storage/index.js';
import { readLog, readSessions } from './log.store.js';
import { readGraph } from './graph.js';
import { readLoop } from './paths.store.js';
import { agentRangeQuery, hoursQuery, logQuery, metricsQuery, rangeQuery, sessionsQuery } from './query.js';
import { lastHours, reportRange } from './range.js';
import * as report from './reports.js';
import * as shapes from './shapes.js';
import { readTurns } from './turns.store.js';
import { readChosenHours, readDays, readHours, readShares } from './totals.store.js';

export interface TelemetryParts {
  readonly store: Store;
  readonly time: Time;
  readonly version: string;
}

const root = '/api/telemetry';
/** What `health` lists. Clients compare it, so reports that came later are in the documents alone. */
const paths = [
  'health',
  'metrics',
  'logs',
  'usage-by-hour',
  'sessions',
  'dashboard',
  'cache',
  'loopgraph',
  'call-sources',
  'graph',
].map((name) => `${root}/${name}`);

type Asked<Query> = OperationRequest<TenantCaller, unknown, Query>;

/** The default range is the last month; a dashboard shows the last week. */
const days = 30;
const dashboardDays = 7;

export function telemetryOperations({ store, time, version }: TelemetryParts): readonly Operation[] {
  const common = {
    method: 'GET',
    dialect: 'telemetry',
    access: tenantUser('telemetry:read', 'required-header'),
  } as const;
  const rangeFor = (query: z.output<typeof rangeQuery>, most = days) =>
    reportRange(query, time.wallMs(), most);
  return [
    declare({
      name: 'telemetry.health',
      method: 'GET',
      path: `${root}/health`,
      title: 'Whether telemetry is available, and its defaults.',
      access: anyone(),
      rate: 'uncounted',
      dialect: 'telemetry',
      output: shapes.health,
      handle: () => ({
        status: 'ok',
        version,
        timestamp: new Date(time.wallMs()).toISOString(),
        endpoints: paths,
      }),
    }),
    declare({
      ...common,
      name: 'telemetry.metrics',
      path: `${root}/metrics`,
      title: 'Calls, tokens, latency and errors of a period.',
      query: metricsQuery,
      output: oneShape(shapes.metrics),
      errors: ['TELEMETRY_MISSING_DATE_RANGE'],
      async handle({ caller, query }: Asked<z.output<typeof metricsQuery>>) {
        const shares = await store.inTenant(caller.scope, (tx) =>
          readShares(tx, rangeFor(query), filterOf(query)),
        );
        return one(report.metricsOf(shares));
      },
    }),
    declare({
      ...common,
      name: 'telemetry.logs',
      path: `${root}/logs`,
      title: 'List model calls.',
      query: logQuery,
      output: shapes.logPage,
      async handle({ caller, query }: Asked<z.output<typeof logQuery>>) {
        const { page, limit, order_by: order, order_dir: direction } = query;
        const { rows, total } = await store.inTenant(caller.scope, (tx) =>
          readLog(tx, rangeFor(query), filterOf(query), { page, limit, order, direction }),
        );
        const pagination = { page, limit, pages: Math.ceil(total / limit) };
        return { success: true as const, data: rows.map(report.entryOf), total, pagination };
      },
    }),
    declare({
      ...common,
      name: 'telemetry.usage-by-hour',
      path: `${root}/usage-by-hour`,
      title: 'Calls and tokens for each of the last hours.',
      query: hoursQuery,
      output: oneShape(z.array(shapes.hourUse)),
      async handle({ caller, query }: Asked<z.output<typeof hoursQuery>>) {
        const range = lastHours(query.hours, time.wallMs());
        const hours = await store.inTenant(caller.scope, (tx) => readChosenHours(tx, range, filterOf(query)));
        return one(report.hoursReport(hours, range));
      },
    }),
    declare({
      ...common,
      name: 'telemetry.sessions',
      path: `${root}/sessions`,
      title: 'Sessions with model calls, newest first.',
      query: sessionsQuery,
      output: shapes.sessionPage,
      async handle({ caller, query }: Asked<z.output<typeof sessionsQuery>>) {
        const { rows, total } = await store.inTenant(caller.scope, (tx) =>
          readSessions(tx, rangeFor(query), query.agent_id, query.limit),
        );
        return { success: true as const, data: rows.map(report.sessionOf), total };
      },
    }),
    declare({
      ...common,
      name: 'telemetry.dashboard',
      path: `${root}/dashboard`,
      title: 'Dashboard data: totals, caches, fallbacks, models, hours, sources.',
      description: 'Over more than 400 days only hours with calls are listed.',
      query: rangeQuery,
      output: oneShape(shapes.dashboard),
      async handle({ caller, query }: Asked<z.output<typeof rangeQuery>>) {
        const range = rangeFor(query, dashboardDays);
        return store.inTenant(caller.scope, async (tx) =>
          one(report.dashboardOf(await readShares(tx, range), await readHours(tx, range), range)),
        );
      },
    }),
    declare({
      ...common,
      name: 'telemetry.cache',
      path: `${root}/cache`,
      title: 'Savings of the response cache and of the vendors’ caches.',
      query: rangeQuery,
      output: oneShape(shapes.cache),
      async handle({ caller, query }: Asked<z.output<typeof rangeQuery>>) {
        const range = rangeFor(query);
        return store.inTenant(caller.scope, async (tx) =>
          one(report.cacheOf(await readShares(tx, range), await readDays(tx, range))),
        );
      },
    }),
    declare({
      ...common,
      name: 'telemetry.loopgraph',
      path: `${root}/loopgraph`,
      title: 'The steps of executions and the transitions between them.',
      query: agentRangeQuery,
      output: oneShape(shapes.loopgraph),
      async handle({ caller, query }: Asked<z.output<typeof agentRangeQuery>>) {
        const { nodes, edges, sessions } = await store.inTenant(caller.scope, (tx) =>
          readLoop(tx, rangeFor(query), query.agent_id),
        );
        return one(report.loopgraphOf(nodes, edges, sessions));
      },
    }),
    declare({
      ...common,
      name: 'telemetry.call-sources',
      path: `${root}/call-sources`,
      title: 'Model calls of the last 30 days by source.',
      output: oneShape(z.array(shapes.callSource)),
      async handle({ caller }: Asked<unknown>) {
        const shares = await store.inTenant(caller.scope, (tx) => readShares(tx, rangeFor({})));
        return one(report.callSourcesOf(shares));
      },
    }),
    declare({
      ...common,
      name: 'telemetry.graph',
      path: `${root}/graph`,
      title: 'Triggers, agents, models and tools, and the connections between them.',
      query: agentRangeQuery,
      output: oneShape(shapes.graph),
      async handle({ caller, query }: Asked<z.output<typeof agentRangeQuery>>) {
        const graph = await store.inTenant(caller.scope, (tx) =>
          readGraph(tx, rangeFor(query), query.agent_id),
        );
        return one(report.graphOf(graph));
      },
    }),
    declare({
      ...common,
      name: 'telemetry.turns',
      path: `${root}/turns`,
      title: 'Turns that began in the last hours: number by status, and latency.',
      query: hoursQuery,
      output: oneShape(shapes.turns),
      async handle({ caller, query: { hours, agent_id: agentId } }: Asked<z.output<typeof hoursQuery>>) {
        const nowMs = time.wallMs();
        const range = { from: new Date(nowMs - hours * 3_600_000), to: new Date(nowMs) };
        const sums = await store.inTenant(caller.scope, (tx) => readTurns(tx, range, agentId));
        return one(report.turnsOf(sums));
      },
    }),
  ];
}

function filterOf(query: {
  readonly agent_id?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly status?: 'success' | 'error' | undefined;
}) {
  const { agent_id: agentId, provider, model, status } = query;
  return { agentId, provider, model, status };
}
