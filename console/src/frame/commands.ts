import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { api, take } from '../api/client';
import { useKey } from '../api/queries';
import { roleAllows } from '../session/permissions';
import { signOut, switchTenant } from '../session/session';
import { chooseTheme, themes } from '../session/theme';
import { useAllowed, useSession, useTenant } from '../session/use-session';
import { failed } from '../ui/toasts';
import { entries } from './entries';

/** One entry of the palette: it leads to an address, or does something. */
export interface Command {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly detail?: string;
  readonly path?: string;
  readonly act?: () => void;
  /** Further words under which it is found. */
  readonly words?: string;
}

const perKindMax = 6;
const shownMax = 30;

/** Every word that was written is the beginning of a word of the entry, or part of it from three letters on. */
export function matches({ title, detail = '', words = '', kind }: Command, text: string): boolean {
  const known = `${title} ${detail} ${words} ${kind}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every(
      (word) =>
        known.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(word)) ||
        (word.length > 2 && known.includes(word)),
    );
}

function useOwnCommands(): readonly Command[] {
  const { role } = useTenant();
  const { tenants, tenantId } = useSession();
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
        act: () => switchTenant(id),
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
      act: () => void signOut().catch((error: unknown) => failed('Signing out failed', error)),
    },
  ];
}

/** Agents and triggers by name, conversations by the search of the API. A screen that is not there finds nothing. */
function useFound(text: string) {
  const may = {
    agents: useAllowed('agents:read') && has('/agents'),
    triggers: useAllowed('triggers:read') && has('/triggers'),
    sessions: useAllowed('sessions:read') && has('/inbox'),
  };
  return useQuery({
    queryKey: useKey('palette', text),
    enabled: text.length > 1,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    queryFn: async ({ signal }): Promise<readonly Command[]> => {
      const [agents, triggers, sessions] = await Promise.all([
        may.agents ? take(api.GET('/api/agents', { signal })) : undefined,
        may.triggers ? take(api.GET('/api/triggers', { signal })) : undefined,
        may.sessions
          ? take(
              api.GET('/api/v1/sessions', {
                params: { query: { search: text, limit: perKindMax } },
                signal,
              }),
            )
          : undefined,
      ]);
      const named = [
        ...(agents?.data ?? []).map(({ id, name, commercial_name: title }) => ({
          id: `agent ${id}`,
          kind: 'Agent',
          title: title ?? name,
          detail: name,
          path: `/agents/${id}`,
          words: id,
        })),
        ...(triggers?.data ?? []).map(({ id, name, trigger_type: type }) => ({
          id: `trigger ${id}`,
          kind: 'Trigger',
          title: name,
          detail: type,
          path: `/triggers/${id}`,
          words: id,
        })),
      ].filter((command) => matches(command, text));
      const conversations = (sessions?.data ?? []).map(
        ({ session_id: id, consumer_display_name: name, consumer_key: key, channel }) => ({
          id: `session ${id}`,
          kind: 'Conversation',
          title: name ?? key ?? id,
          detail: channel,
          path: `/inbox/${id}`,
        }),
      );
      return [...named, ...conversations];
    },
  });
}

const has = (path: string): boolean => entries.some((entry) => entry.path === path);

export function useCommands(text: string): {
  readonly commands: readonly Command[];
  readonly isReading: boolean;
} {
  const asked = useDeferredValue(text.trim());
  const own = useOwnCommands().filter((command) => matches(command, asked));
  const { data = [], isFetching } = useFound(asked);
  const found = asked.length > 1 ? data : [];
  return { commands: [...own, ...found].slice(0, shownMax), isReading: isFetching && found.length === 0 };
}
