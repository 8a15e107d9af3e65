import type { TriggersSubject } from '../../automation/index.js';
import { VoidClaims } from '../../infra/claims/index.js';
import type { Mail } from '../../infra/mail/index.js';
import type { Platform } from '../../infra/platform/index.js';
import type { Actors } from '../../infra/runtime/index.js';
import { processName, type Processes } from '../../models/usage/index.js';

interface ClaimNeeds {
  readonly actors: Pick<Actors, 'members'>;
  readonly processes: Pick<Processes, 'isSurelyGone'>;
  readonly triggers: Pick<TriggersSubject, 'claims'>;
  readonly mail: Pick<Mail, 'claims'>;
}

/**
 * Ends claims of other processes. Work with outside effects waits until its process has surely stopped (protocol 2.4).
 * Work whose end is fenced only waits until the process has left the view, which is sooner; it never comes back under
 * the same name.
 */
export function voidClaims(
  { store, time, log: { report } }: Pick<Platform, 'store' | 'time' | 'log'>,
  self: string,
  { actors, processes, triggers, mail }: ClaimNeeds,
): readonly VoidClaims[] {
  const everMembers = new Set<string>();
  const members = (): readonly string[] => {
    const names = actors.members().map((member) => processName(member, true));
    for (const name of names) everMembers.add(name);
    return names;
  };
  const isGone = (process: string): boolean => process !== self && processes.isSurelyGone(process);
  const hasLeft = (process: string): boolean => {
    if (process === self || !everMembers.has(process)) return false;
    const present = members();
    // A view without this process is no longer its own.
    return present.includes(self) && !present.includes(process);
  };
  const parts = { store, time, report };
  const effects = new VoidClaims({ ...parts, holders: { members, isGone } });
  for (const work of [...triggers.claims.effects, mail.claims]) effects.add(work);
  const fenced = new VoidClaims({
    ...parts,
    holders: { members, isGone: (process) => isGone(process) || hasLeft(process) },
  });
  for (const work of triggers.claims.fenced) fenced.add(work);
  return [effects, fenced];
}
