import type { NavigationEntry } from '../routing/navigation';
import { agentsEntries } from '../screens/agents/routes';
import { auditEntries } from '../screens/audit/routes';
import { callsEntries } from '../screens/calls/routes';
import { consumersEntries } from '../screens/consumers/routes';
import { databasesEntries } from '../screens/databases/routes';
import { errorsEntries } from '../screens/errors/routes';
import { inboxEntries } from '../screens/inbox/routes';
import { keysEntries } from '../screens/keys/routes';
import { membersEntries } from '../screens/members/routes';
import { operatorEntries } from '../screens/operator/routes';
import { overviewEntries } from '../screens/overview/routes';
import { secretsEntries } from '../screens/secrets/routes';
import { settingsEntries } from '../screens/settings/routes';
import { triggersEntries } from '../screens/triggers/routes';
import { turnsEntries } from '../screens/turns/routes';
import { usageEntries } from '../screens/usage/routes';

/** The entries of all screens, in the order of the sidebar. */
export const entries: readonly NavigationEntry[] = [
  ...overviewEntries,
  ...inboxEntries,
  ...turnsEntries,
  ...consumersEntries,
  ...agentsEntries,
  ...triggersEntries,
  ...databasesEntries,
  ...callsEntries,
  ...usageEntries,
  ...errorsEntries,
  ...auditEntries,
  ...keysEntries,
  ...secretsEntries,
  ...membersEntries,
  ...settingsEntries,
  ...operatorEntries,
];
