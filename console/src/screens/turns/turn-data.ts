import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { useLiveStream } from '../../api/live-stream';
import { readAnew, useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';

type Answer<Path extends '/api/v1/executions/{id}' | '/api/v1/executions/{id}/calls'> =
  paths[Path]['get']['responses'][200]['content']['application/json']['data'];
export type Execution = Answer<'/api/v1/executions/{id}'>;
export type Step = Execution['steps'][number];
export type TurnCall = Answer<'/api/v1/executions/{id}/calls'>[number];
export type Attempt = TurnCall['attempts'][number];

/** What the events of the turn say beyond its record. */
export interface TurnEvents {
  readonly restarts: number;
  readonly text: string;
}

export function isOver({ status }: Execution): boolean {
  return !['queued', 'running', 'waiting'].includes(status);
}

/** A turn with its steps and calls; live while it runs. */
export function useTurn(id: string) {
  const mayFollow = useAllowed('agents:chat');
  const [executionKey, callsKey] = [useKey('turn', id), useKey('turn calls', id)];
  const path = { id };
  const execution = useQuery({
    queryKey: executionKey,
    queryFn: ({ signal }) => take(api.GET('/api/v1/executions/{id}', { params: { path }, signal })),
  });
  const calls = useQuery({
    queryKey: callsKey,
    queryFn: ({ signal }) => take(api.GET('/api/v1/executions/{id}/calls', { params: { path }, signal })),
  });
  const [events, setEvents] = useState<TurnEvents>({ restarts: 0, text: '' });
  // An ended turn's events are read once: they tell whether another node went on with it.
  const [read, setRead] = useState(false);
  const refresh = (): void => {
    for (const queryKey of [executionKey, callsKey]) void readAnew(queryKey);
  };
  useLiveStream(mayFollow && !read ? `/api/v1/executions/${id}/stream` : undefined, {
    opened: () => setEvents({ restarts: 0, text: '' }),
    receive: ({ type: event, data }) => {
      if (data === undefined) return;
      const told = JSON.parse(data) as Readonly<Record<string, unknown>>;
      if (event === 'status' && told['state'] === 'restarted')
        setEvents(({ restarts }) => ({ restarts: restarts + 1, text: '' }));
      if (event === 'delta') setEvents((old) => ({ ...old, text: old.text + String(told['content']) }));
      const over = execution.data !== undefined && isOver(execution.data.data);
      if (!over && (event === 'phase' || event === 'tool')) refresh();
      if (event !== 'done') return;
      setRead(true);
      if (!over) refresh();
    },
  });
  return { execution, calls: calls.data?.data ?? [], events, refresh };
}

/** A value as text; JSON within a text is indented. */
export function readableJson(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
