import { z } from 'zod';
import type { NodeDescription } from '../../cluster/index.js';
import { named, declare, type Operation, operator } from '../http/operations/index.js';
import { type Actors, countsOf, type NodeReport, unstatedVersion } from '../infra/runtime/index.js';

const figure = z.int().min(0);

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
    }),
  }),
);

export function clusterOperations(actors: Actors): readonly Operation[] {
  return [
    declare({
      name: 'cluster.read',
      method: 'GET',
      path: '/api/v1/cluster',
      title: 'Nodes, their slots, actors, mailboxes and epochs',
      description: 'Asks every node that hosts actors. A node that does not answer is listed as unreachable.',
      access: operator(),
      output: clusterShape,
      async handle() {
        const own = actors.describe();
        const reports = await actors.reports();
        const nodes = reports.map((report) => nodeEntry(report, own));
        return {
          success: true as const,
          data: {
            process: own?.process ?? '',
            view: { number: own?.view.number ?? 0, hash: own?.view.hash ?? '' },
            nodes,
            versions: versionsOf(reports),
            slots: nodes.reduce((sum, { slots }) => sum + slots, 0),
          },
        };
      },
    }),
  ];
}

/** The versions of the nodes that answered. */
function versionsOf(reports: readonly NodeReport[]): string[] {
  const answered = reports.flatMap(({ description }) => (description === undefined ? [] : [description]));
  return [...new Set(answered.map(({ version }) => version ?? unstatedVersion))].toSorted();
}

function nodeEntry({ member, description }: NodeReport, own: NodeDescription | undefined) {
  const { process, address, roles } = member;
  return {
    process,
    version: description?.version ?? null,
    protocols: description?.protocols ?? null,
    address,
    roles: [...roles],
    standing: description?.standing ?? 'unreachable',
    slots: own?.members.find((one) => one.process === process)?.slots ?? 0,
    view: description === undefined ? null : { number: description.view.number, hash: description.view.hash },
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
