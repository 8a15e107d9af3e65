import { useQuery } from '@tanstack/react-query';
import { api, take, tenantHeader } from '../api/client';
import { useKey } from '../api/queries';
import { type Permission, roleAllows } from '../session/permissions';
import { useTenant } from '../session/use-session';
import type { Command } from './command';

export interface Found {
  readonly commands: readonly Command[];
  readonly isReading: boolean;
}

type Find = (signal: AbortSignal) => Promise<readonly Command[]>;

const perKindMax = 6;
const query = { limit: 100 };

const named: readonly (readonly [Permission, Find])[] = [
  [
    'agents:read',
    async (signal) =>
      (await take(api.GET('/api/agents', { params: { query }, signal }))).data.map((one) => ({
        id: `agent ${one.id}`,
        kind: 'Agent',
        title: one.commercial_name,
        detail: one.name,
        path: `/agents/${one.id}`,
      })),
  ],
  [
    'triggers:read',
    async (signal) =>
      (await take(api.GET('/api/triggers', { params: { query }, signal }))).data.map((one) => ({
        id: `trigger ${one.id}`,
        kind: 'Trigger',
        title: one.name,
        detail: one.trigger_type.replaceAll('_', ' '),
        path: `/triggers/${one.id}`,
      })),
  ],
  [
    'databases:read',
    async (signal) =>
      (await take(api.GET('/api/database-configs', { params: { query }, signal }))).data.map((one) => ({
        id: `database ${one.id}`,
        kind: 'Database',
        title: one.name,
        path: `/databases/${one.id}`,
      })),
  ],
  [
    'keys:read',
    async (signal) => {
      const params = { query, header: tenantHeader() };
      return (await take(api.GET('/api/keys', { params, signal }))).data.map((one) => ({
        id: `key ${one.id}`,
        kind: 'Key',
        title: one.name,
        detail: one.status,
        path: `/keys?key=${one.id}`,
      }));
    },
  ],
  [
    'secrets:read',
    async (signal) =>
      (await take(api.GET('/api/secrets', { params: { query }, signal }))).data.map((one) => ({
        id: `secret ${one.id}`,
        kind: 'Secret',
        title: one.name,
        path: `/secrets?secret=${one.id}`,
      })),
  ],
];

/** What cannot be read hides nothing of the others. */
async function all(finds: readonly Promise<readonly Command[]>[]): Promise<readonly Command[]> {
  const answers = await Promise.allSettled(finds);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

/** Things with names, read once while the palette is open; the words that are written choose among them. */
export function useNamed(enabled: boolean): Found {
  const { role } = useTenant();
  const { data = [], isFetching } = useQuery({
    queryKey: useKey('palette', 'named'),
    enabled,
    staleTime: 30_000,
    queryFn: ({ signal }) =>
      all(named.filter(([permission]) => roleAllows(role, permission)).map(([, find]) => find(signal))),
  });
  return { commands: data, isReading: isFetching && data.length === 0 };
}

/** Conversations and people, of which a tenant has too many to read them all: the API searches. */
export function useBySearch(text: string, enabled: boolean): Found {
  const { role } = useTenant();
  const { data = [], isFetching } = useQuery({
    queryKey: useKey('palette', 'search', text),
    enabled,
    staleTime: 30_000,
    queryFn: ({ signal }) => {
      const params = { query: { search: text, limit: perKindMax } };
      return all([
        ...(roleAllows(role, 'consumers:read')
          ? [
              take(api.GET('/api/v1/consumers', { params, signal })).then(({ data: rows }) =>
                rows.map(person),
              ),
            ]
          : []),
        ...(roleAllows(role, 'sessions:read')
          ? [take(api.GET('/api/v1/sessions', { params, signal })).then(({ data: rows }) => rows.map(talk))]
          : []),
      ]);
    },
  });
  return { commands: data, isReading: isFetching && data.length === 0 };
}

const person = (one: { readonly consumer_key: string; readonly display_name: string | null }): Command => ({
  id: `person ${one.consumer_key}`,
  kind: 'Person',
  title: one.display_name ?? one.consumer_key,
  detail: one.consumer_key,
  path: `/consumers/${encodeURIComponent(one.consumer_key)}`,
});

const talk = (one: {
  readonly session_id: string;
  readonly consumer_display_name: string | null;
  readonly consumer_key: string | null;
  readonly channel: string;
}): Command => ({
  id: `session ${one.session_id}`,
  kind: 'Conversation',
  title: one.consumer_display_name ?? one.consumer_key ?? one.session_id,
  detail: one.channel,
  path: `/inbox?session=${one.session_id}`,
});

const wholeId = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An id from a log or a mail, whatever it belongs to: each kind is asked for it. */
export function useById(text: string): Found {
  const { role } = useTenant();
  const id = text.toLowerCase();
  const { data = [], isFetching } = useQuery({
    queryKey: useKey('palette', 'id', id),
    enabled: wholeId.test(id),
    staleTime: 30_000,
    queryFn: ({ signal }) => {
      const params = { path: { id } };
      const header = tenantHeader();
      const kinds: readonly (readonly [Permission, string, string, () => Promise<unknown>])[] = [
        [
          'executions:read',
          'Turn',
          `/turns/${id}`,
          () => take(api.GET('/api/v1/executions/{id}', { params, signal })),
        ],
        [
          'sessions:read',
          'Conversation',
          `/inbox?session=${id}`,
          () => take(api.GET('/api/v1/sessions/{id}', { params, signal })),
        ],
        [
          'telemetry:read',
          'Call',
          `/calls/${id}`,
          () => take(api.GET('/api/telemetry/logs/{id}', { params: { ...params, header }, signal })),
        ],
        [
          'agents:read',
          'Agent',
          `/agents/${id}`,
          () => take(api.GET('/api/agents/{id}', { params, signal })),
        ],
        [
          'triggers:read',
          'Trigger',
          `/triggers/${id}`,
          () => take(api.GET('/api/triggers/{id}', { params, signal })),
        ],
      ];
      return all(
        kinds
          .filter(([permission]) => roleAllows(role, permission))
          .map(async ([, kind, path, ask]) => {
            await ask();
            return [{ id: `id ${path}`, kind, title: id, path }];
          }),
      );
    },
  });
  return { commands: data, isReading: isFetching };
}
