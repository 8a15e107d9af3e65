import { z } from 'zod';
import type { NodeDescription } from '../../cluster/index.js';
import { named, declare, one, oneShape, type Operation, operator } from '../http/operations/index.js';
import { type Actors, countsOf, type NodeReport, unstatedVersion } from '../infra/runtime/index.js';
import type { Store } from '../infra/storage/index.js';
import { actorOf } from '../kernel/caller.js';
import { recordAudit } from '../tenancy/audit/index.js';
import { mergedChanges, ringChange } from './cluster-history.js';

const figure = z.int().min(0);
const milliseconds = z.number().min(0);

const nodeShape = named(
  'ClusterNode',
  z.object({
    process: z.string(),
    /** Null if the node did not answer, or is of version 0.1. */
    version: z.string().nullable(),
    /** The oldest and the newest version of the messages between nodes that the node speaks. */
    protocols: z.object({ min: figure, max: figure }).nullable(),
    address: z.string(),
    roles: z.array(z.string()),
    /** `unreachable` if the node did not answer in time. */
    standing: z.string(),
    slots: figure,
    view: z.object({ number: figure, hash: z.string() }).nullable(),
    lease_age_ms: milliseconds
      .nullable()
      .describe('Since the start of the renewal that was confirmed last; null without a lease.'),
    loop_lag: z
      .object({ p50_ms: milliseconds, p99_ms: milliseconds, max_ms: milliseconds })
      .nullable()
      .describe('How late the event loop ran its timers in the last minute or so.'),
    actors: z.record(z.string(), figure),
    residents: figure,
    mailboxes: z.object({
      busy: figure,
      loading: figure,
      waiting: figure,
      oldest_waiting_ms: z.number().min(0),
      waiting_for_owner: figure,
    }),
    links: z.object({ open: figure, in_flight: figure }),
    counts: z.record(z.string(), z.number()),
    epochs: z.array(z.object({ kind: z.string(), group: z.string(), key: z.string(), epoch: figure })),
  }),
);

const clusterShape = named(
  'Cluster',
  z.object({
    success: z.literal(true),
    data: z.object({
      /** The node that answered. */
      process: z.string(),
      view: z.object({ number: figure, hash: z.string() }),
      nodes: z.array(nodeShape),
      /** More than one while an upgrade goes on. A node that does not state its version counts as `0.1`. */
      versions: z.array(z.string()),
      slots: figure,
      leaving: z
        .array(nodeShape)
        .describe('Nodes that left the view and finish their running turns. They have no slots.'),
      changes: z.array(ringChange).describe('The last changes of the ring, newest first.'),
    }),
  }),
);

export function clusterOperations(actors: Actors, store: Store): readonly Operation[] {
  return [
    declare({
      name: 'cluster.read',
      method: 'GET',
      path: '/api/v1/cluster',
      title: 'Nodes, their slots, actors, mailboxes and epochs, and the last changes of the ring',
      description:
        'Asks every node that hosts actors, or leaves. A node that does not answer is listed as unreachable.',
      access: operator(),
      output: clusterShape,
      async handle() {
        const own = actors.describe();
        const reports = await actors.reports();
        const entriesOf = (isLeaving: boolean) =>
          reports.filter((report) => report.isLeaving === isLeaving).map((report) => nodeEntry(report, own));
        const nodes = entriesOf(false);
        return {
          success: true as const,
          data: {
            process: own?.process ?? '',
            view: { number: own?.view.number ?? 0, hash: own?.view.hash ?? '' },
            nodes,
            versions: versionsOf(reports),
            slots: nodes.reduce((sum, { slots }) => sum + slots, 0),
            leaving: entriesOf(true),
            changes: mergedChanges(reports.map(({ description }) => description?.ringChanges ?? [])),
          },
        };
      },
    }),
    drainOperation(actors, store),
  ];
}

/** The versions of the nodes that answered. */
function versionsOf(reports: readonly NodeReport[]): string[] {
  const answered = reports.flatMap(({ description }) => (description === undefined ? [] : [description]));
  return [...new Set(answered.map(({ version }) => version ?? unstatedVersion))].toSorted();
}

function drainOperation(actors: Actors, store: Store): Operation {
  return declare({
    name: 'cluster.drain',
    method: 'POST',
    audit: { action: 'node.drained', by: 'subject' },
    path: '/api/v1/cluster/nodes/:process/drain',
    title: 'Let a node leave its cluster in order, and end',
    description:
      'As SIGTERM does: the node takes no new work, its running turns finish, other nodes take over its actors, and its process ends. A supervisor may start it again. `GET /api/v1/cluster` lists it under `leaving` meanwhile.',
    access: operator(),
    params: z.object({ process: z.string().min(1).max(200) }),
    output: oneShape(z.object({ process: z.string(), standing: z.literal('leaving') })),
    status: 202,
    errors: ['not_found', 'conflict', 'service_unavailable'],
    async handle({ caller, params: { process } }) {
      await actors.drain(process);
      await store.directory((tx) =>
        recordAudit(tx, {
          tenantId: null,
          actor: actorOf(caller),
          action: 'node.drained',
          subject: `node:${process}`,
        }),
      );
      return one({ process, standing: 'leaving' as const });
    },
  });
}

function nodeEntry({ member, description, isLeaving }: NodeReport, own: NodeDescription | undefined) {
  const { process, address, roles } = member;
  const lag = description?.loopLag;
  return {
    process,
    version: description?.version ?? null,
    protocols: description?.protocols ?? null,
    address,
    roles: [...roles],
    standing: description === undefined ? 'unreachable' : isLeaving ? 'leaving' : description.standing,
    slots: own?.members.find((one) => one.process === process)?.slots ?? 0,
    view: description === undefined ? null : { number: description.view.number, hash: description.view.hash },
    lease_age_ms: description?.leaseAgeMs ?? null,
    loop_lag: lag === undefined ? null : { p50_ms: lag.p50Ms, p99_ms: lag.p99Ms, max_ms: lag.maxMs },
    actors: { ...description?.actors },
    residents: description?.residents ?? 0,
    mailboxes: {
      busy: description?.busy ?? 0,
      loading: description?.loading ?? 0,
      waiting: description?.waiting ?? 0,
      // Nodes of earlier versions do not send it.
      oldest_waiting_ms: description?.oldestWaitingMs ?? 0,
      waiting_for_owner: description?.waitingForOwner ?? 0,
    },
    links: { open: description?.links.open ?? 0, in_flight: description?.links.inFlight ?? 0 },
    counts: description === undefined ? {} : countsOf(description),
    epochs: (description?.epochs ?? []).map((one) => ({ ...one })),
  };
}
