import { type Permission, roleAllows } from '../session/permissions';
import { chooseTheme, themes } from '../session/theme';
import { useSession, useTenant } from '../session/use-session';
import { type Command, matches } from './command';
import { entries } from './entries';
import { useById, useBySearch, useNamed } from './found';
import { leaveAccount } from './leave-account';
import { useOpenTenant } from './open-tenant';

const shownMax = 30;

/** What people begin from anywhere. */
const actions: readonly (readonly [permission: Permission, title: string, path: string, words: string])[] = [
  ['agents:create', 'New agent', '/agents?create=true', 'create add assistant'],
  ['triggers:create', 'New trigger', '/triggers/new', 'create add webhook schedule mail'],
  ['keys:create', 'Create an API key', '/keys?create=true', 'new add token'],
  ['secrets:write', 'Add a secret', '/secrets?create=true', 'new create vault'],
  ['members:write', 'Invite a person', '/members?invite=true', 'new add member colleague'],
  ['llm:call', 'Compare models', '/models/try', 'try call prompt'],
];

function useOwnCommands(): readonly Command[] {
  const { role } = useTenant();
  const { tenants, tenantId } = useSession();
  const openTenant = useOpenTenant();
  return [
    ...entries
      .filter(({ permission }) => permission === undefined || roleAllows(role, permission))
      .map(({ title, path, words, group }) => ({
        id: path,
        kind: 'Screen',
        title,
        path,
        words: `${words ?? ''} ${group}`,
      })),
    ...actions
      .filter(([permission]) => roleAllows(role, permission))
      .map(([, title, path, words]) => ({ id: `action ${path}`, kind: 'Action', title, path, words })),
    ...themes.map((theme) => ({
      id: `theme ${theme}`,
      kind: 'Action',
      title: `Theme: ${theme === 'system' ? 'as the system' : theme}`,
      act: () => chooseTheme(theme),
    })),
    ...tenants
      .filter(({ id }) => id !== tenantId)
      .map(({ id, name }) => ({
        id: `tenant ${id}`,
        kind: 'Tenant',
        title: `Switch to ${name}`,
        act: () => openTenant(id),
      })),
    {
      id: 'docs',
      kind: 'Action',
      title: 'Open the API reference',
      words: 'docs documentation openapi',
      act: () => void window.open('/docs', '_blank', 'noopener'),
    },
    {
      id: 'sign out',
      kind: 'Action',
      title: 'Sign out',
      words: 'logout leave',
      act: leaveAccount,
    },
  ];
}

/** What was written finds: screens, actions, things by their names, and a thing by its whole id. */
export function useCommands(text: string): {
  readonly commands: readonly Command[];
  readonly isReading: boolean;
} {
  const asked = text.trim();
  const isFinding = asked.length > 1;
  const own = useOwnCommands().filter((command) => matches(command, asked));
  const [named, searched, byId] = [useNamed(isFinding), useBySearch(asked, isFinding), useById(asked)];
  const found = isFinding
    ? [...byId.commands, ...named.commands.filter((command) => matches(command, asked)), ...searched.commands]
    : [];
  return {
    commands: [...own, ...found].slice(0, shownMax),
    isReading: isFinding && [named, searched, byId].some(({ isReading }) => isReading),
  };
}
