import { useEffect, useRef, useState } from 'react';
import { useLiveStream } from '../../api/live-stream';

export interface LiveTool {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly latencyMs: number | undefined;
}

/** A turn while it runs, as far as its events tell. */
export interface LiveTurn {
  readonly executionId: string;
  readonly text: string;
  readonly phase: string | undefined;
  readonly tools: readonly LiveTool[];
  /** It goes on at another node after a fault. */
  readonly restarted: boolean;
  readonly queued: boolean;
  readonly error: string | undefined;
  /** When it ended, by this page's clock. */
  readonly doneAtMs: number | undefined;
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function fresh(executionId: string): LiveTurn {
  return {
    executionId,
    text: '',
    phase: undefined,
    tools: [],
    restarted: false,
    queued: false,
    error: undefined,
    doneAtMs: undefined,
  };
}

function after(turn: LiveTurn, event: Event): LiveTurn {
  switch (event.type) {
    case 'metadata':
      return fresh(turn.executionId);
    case 'status':
      if (event['state'] === 'restarted') return { ...turn, restarted: true, text: '', tools: [] };
      return { ...turn, queued: event['state'] === 'queued' };
    case 'approval':
      return { ...turn, phase: 'approval' };
    case 'phase':
      return { ...turn, phase: text(event['name']) };
    case 'delta':
      return { ...turn, text: turn.text + text(event['content']) };
    case 'response':
      return { ...turn, text: text(event['content']) };
    case 'tool': {
      const tool = {
        id: text(event['call_id']),
        name: text(event['name']),
        state: text(event['state']),
        latencyMs: typeof event['latency_ms'] === 'number' ? event['latency_ms'] : undefined,
      };
      return { ...turn, tools: [...turn.tools.filter(({ id }) => id !== tool.id), tool] };
    }
    case 'error':
      return { ...turn, error: text(event['message']) };
    case 'done':
      return { ...turn, doneAtMs: Date.now() };
    default:
      return turn;
  }
}

/**
 * The turns of a conversation as they are written. Pieces of text arrive faster than a screen is drawn, so they are put
 * on the screen once for each of its pictures. `changed`: the stored messages are not what was read.
 */
export function useLiveTurns(sessionId: string, changed: () => void): readonly LiveTurn[] {
  const [turns, setTurns] = useState<readonly LiveTurn[]>([]);
  const known = useRef(new Map<string, LiveTurn>());
  const picture = useRef<number | undefined>(undefined);
  const show = (): void => {
    picture.current ??= requestAnimationFrame(() => {
      picture.current = undefined;
      setTurns([...known.current.values()]);
    });
  };
  useEffect(() => () => cancelAnimationFrame(picture.current ?? 0), []);
  useLiveStream(`/api/v1/sessions/${sessionId}/stream`, {
    opened: () => {
      // Running turns are told from their beginning.
      known.current.clear();
      show();
      changed();
    },
    receive: ({ data }) => {
      if (data === undefined) return;
      const event = JSON.parse(data) as Event;
      const id = text(event['execution_id']);
      // The stream says that it ends; it is opened again.
      if (id === '') return;
      known.current.set(id, after(known.current.get(id) ?? fresh(id), event));
      if (event.type === 'done') {
        const ended = [...known.current.keys()].slice(0, -5);
        for (const old of ended)
          if (known.current.get(old)?.doneAtMs !== undefined) known.current.delete(old);
      }
      if (['metadata', 'approval', 'done'].includes(event.type)) changed();
      show();
    },
  });
  return turns;
}
