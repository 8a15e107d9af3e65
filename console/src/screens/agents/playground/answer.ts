import type { TurnEvent } from './turn-stream';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly latencyMs: number | undefined;
}

/** What is known of one answer so far. */
export interface Answer {
  readonly text: string;
  readonly thinking: string;
  readonly tools: readonly ToolCall[];
  readonly replies: readonly string[];
  /** What happens now, while it happens. */
  readonly phase: string | undefined;
  readonly outcome: string | undefined;
  readonly problem: string | undefined;
  readonly executionId: string | undefined;
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  readonly cost: number | undefined;
  readonly tokens: number | undefined;
  readonly latencyMs: number | undefined;
  readonly firstTokenMs: number | undefined;
}

export const emptyAnswer: Answer = {
  text: '',
  thinking: '',
  tools: [],
  replies: [],
  phase: 'sent',
  outcome: undefined,
  problem: undefined,
  executionId: undefined,
  sessionId: undefined,
  model: undefined,
  cost: undefined,
  tokens: undefined,
  latencyMs: undefined,
  firstTokenMs: undefined,
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const phases: Readonly<Record<string, string>> = {
  load: 'reading the conversation',
  intent: 'looking at the question',
  model: 'the model writes',
  tools: 'calling tools',
  finish: 'finishing',
};

/** The answer after one more event. */
export function withEvent(answer: Answer, event: TurnEvent): Answer {
  switch (event.type) {
    case 'metadata':
      return {
        ...answer,
        executionId: textOf(event['execution_id']),
        sessionId: textOf(event['session_id']),
      };
    case 'status':
      // Another node begins the turn again: what was written so far is void.
      return event['state'] === 'restarted'
        ? { ...answer, text: '', thinking: '', phase: 'continues on another node' }
        : { ...answer, phase: textOf(event['state']) };
    case 'phase':
      return { ...answer, phase: phases[textOf(event['name'])] ?? textOf(event['name']) };
    case 'thinking':
      return { ...answer, thinking: answer.thinking + textOf(event['content']) };
    case 'delta':
      return { ...answer, text: answer.text + textOf(event['content']) };
    case 'tool':
      return { ...answer, tools: withCall(answer.tools, event) };
    case 'approval':
      return { ...answer, phase: `waits for a person to decide on ${textOf(event['tool'])}` };
    case 'response':
      return { ...answer, text: textOf(event['content']), replies: repliesOf(event['blocks']) };
    case 'metrics':
      return {
        ...answer,
        model: textOf(event['model']),
        cost: numberOf(event['cost']),
        tokens: numberOf((event['usage'] as Readonly<Record<string, unknown>> | undefined)?.['total_tokens']),
        latencyMs: numberOf(event['latency_ms']),
        firstTokenMs: numberOf(event['first_token_ms']),
      };
    case 'error':
      return { ...answer, problem: textOf(event['message']) };
    case 'done':
      return { ...answer, phase: undefined, outcome: textOf(event['outcome']) };
    default:
      return answer;
  }
}

function withCall(calls: readonly ToolCall[], event: TurnEvent): readonly ToolCall[] {
  const call: ToolCall = {
    id: textOf(event['call_id']),
    name: textOf(event['name']),
    state: textOf(event['state']),
    latencyMs: numberOf(event['latency_ms']),
  };
  const known = calls.some(({ id }) => id === call.id);
  return known ? calls.map((one) => (one.id === call.id ? call : one)) : [...calls, call];
}

function repliesOf(blocks: unknown): readonly string[] {
  if (!Array.isArray(blocks)) return [];
  return (blocks as { type?: string; data?: { labels?: string[] } }[]).flatMap(({ type, data }) =>
    type === 'quick_replies' ? (data?.labels ?? []) : [],
  );
}
