import { actors } from './cluster/actors.js';
import { leases } from './cluster/leases.js';
import { views } from './cluster/views.js';
import { writes } from './cluster/writes.js';
import type { Mutant } from './mutant.js';

export const parts: readonly { readonly title: string; readonly mutants: readonly Mutant[] }[] = [
  { title: 'The runtime', mutants: [...leases, ...views, ...actors, ...writes] },
];
