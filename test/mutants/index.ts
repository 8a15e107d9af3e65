import { actors } from './cluster/actors.js';
import { calls } from './cluster/calls.js';
import { leases } from './cluster/leases.js';
import { recovery } from './cluster/recovery.js';
import { stores } from './cluster/stores.js';
import { views } from './cluster/views.js';
import { writes } from './cluster/writes.js';
import { claims } from './platform/claims.js';
import { inbox } from './platform/inbox.js';
import { quota } from './platform/quota.js';
import { work } from './platform/work.js';
import type { Mutant } from './mutant.js';

export const parts: readonly { readonly title: string; readonly mutants: readonly Mutant[] }[] = [
  {
    title: 'The runtime',
    mutants: [...leases, ...views, ...actors, ...calls, ...writes, ...recovery, ...stores],
  },
  { title: 'The platform', mutants: [...quota, ...claims, ...inbox, ...work] },
];
