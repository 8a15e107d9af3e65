import type { LucideIcon } from 'lucide-react';
import type { Permission } from '../session/permissions';

export const groups = ['', 'Conversations', 'Build', 'Observe', 'Access', 'Tenant', 'Installation'] as const;

/** One entry of the sidebar and of the command palette. A screen that is not there has none. */
export interface NavigationEntry {
  readonly title: string;
  readonly path: string;
  readonly icon: LucideIcon;
  readonly group: (typeof groups)[number];
  /** Hidden from people without it; absent: shown to every member of a tenant. */
  readonly permission?: Permission;
  /** Not in the sidebar: most people who sign in have no use for it. */
  readonly paletteOnly?: true;
  /** Further words under which the palette finds it. */
  readonly words?: string;
}
