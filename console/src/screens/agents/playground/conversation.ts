import type { ChatInput, TurnEvent } from '@troupe/client';
import { useEffect, useRef, useState } from 'react';
import { api, take, troupe } from '../../../api/client';
import { failed } from '../../../ui/toasts';
import { readable } from '../../../ui/unreadable-json';
import { readableProblem } from './problem';
import type { Draft } from '../editor/draft';
import type { Attachment } from './attachments';
import { type Answer, emptyAnswer, withEvent } from './answer';

export interface Exchange {
  readonly id: number;
  readonly question: string;
  readonly attachments: readonly Attachment[];
  readonly answer: Answer;
}

/** `published`: a real turn of the version that serves. `draft`: prompt and model as written, without tools and memory. */
export type Mode = 'published' | 'draft';

export interface Conversation {
  readonly exchanges: readonly Exchange[];
  readonly isRunning: boolean;
  readonly ask: (question: string, attachments: readonly Attachment[]) => void;
  readonly stop: () => void;
  readonly startOver: () => void;
}

/** One conversation of the playground; `model` replaces that of the draft. */
export function useConversation(agentId: string, mode: Mode, draft: Draft, model: string): Conversation {
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  const running = useRef<AbortController>(undefined);
  const [isRunning, setRunning] = useState(false);
  const numbers = useRef(0);
  useEffect(() => () => running.current?.abort(), []);

  const ask = (question: string, attachments: readonly Attachment[]): void => {
    const id = (numbers.current += 1);
    const stopping = new AbortController();
    running.current = stopping;
    setRunning(true);
    setExchanges((all) => [...all, { id, question, attachments, answer: emptyAnswer }]);
    const change = (next: (answer: Answer) => Answer): void =>
      setExchanges((all) => all.map((one) => (one.id === id ? { ...one, answer: next(one.answer) } : one)));
    const work =
      mode === 'published'
        ? followTurn(
            agentId,
            {
              message: question,
              ...sessionOf(exchanges),
              ...(attachments.length > 0 && { attachments: attachments.map((one) => ({ ...one })) }),
            },
            (event) => change((answer) => withEvent(answer, event)),
            stopping.signal,
          )
        : callDraft(draft, model, exchanges, question, attachments, stopping.signal).then((answer) =>
            change(() => answer),
          );
    work
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) change((answer) => ({ ...answer, problem: readableProblem(error) }));
      })
      .finally(() => {
        change((answer) => ({ ...answer, phase: undefined }));
        if (running.current === stopping) setRunning(false);
      });
  };
  const stop = (): void => {
    const sessionId = sessionOf(exchanges).session_id;
    // The turn itself ends on the server; its stream then says so.
    if (mode === 'published' && sessionId !== undefined) {
      take(api.POST('/api/v1/sessions/{id}/cancel', { params: { path: { id: sessionId } } })).catch(
        (error: unknown) => failed('The turn was not stopped', error),
      );
    } else running.current?.abort();
  };
  const startOver = (): void => {
    running.current?.abort();
    setRunning(false);
    setExchanges([]);
  };
  return { exchanges, isRunning, ask, stop, startOver };
}

function sessionOf(exchanges: readonly Exchange[]): { readonly session_id?: string } {
  const sessionId = exchanges.findLast(({ answer }) => answer.sessionId !== undefined)?.answer.sessionId;
  return sessionId === undefined ? {} : { session_id: sessionId };
}

/** Runs a turn and follows its stream over lost connections. */
async function followTurn(
  agentId: string,
  message: ChatInput,
  receive: (event: TurnEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const input = { ...message, capabilities: { blocks: ['quick_replies'] } };
  for await (const event of troupe.agents.chat(agentId, input, { signal })) receive(event);
}

async function callDraft(
  { llm_config: config }: Draft,
  model: string,
  exchanges: readonly Exchange[],
  question: string,
  attachments: readonly Attachment[],
  signal: AbortSignal,
): Promise<Answer> {
  const prompt = config.system_prompt ?? '';
  const messages = [
    ...(prompt === '' ? [] : [{ role: 'system' as const, content: prompt }]),
    ...exchanges
      .filter(({ answer }) => answer.text !== '')
      .flatMap(({ question: asked, answer }) => [
        { role: 'user' as const, content: asked },
        { role: 'assistant' as const, content: answer.text },
      ]),
    ...(attachments.length === 0 ? [] : [{ role: 'user' as const, content: [...attachments] }]),
  ];
  const answer = await take(
    api.POST('/api/v3/llm/call', {
      body: readable({
        query: question,
        model,
        messages,
        temperature: Number.isNaN(config.temperature) ? 0.7 : config.temperature,
        stream: false,
        cache: false,
        ...(config.max_tokens !== undefined && { max_tokens: config.max_tokens }),
        ...(config.response_format !== undefined && { response_format: config.response_format }),
      }),
      signal,
    }),
  );
  return {
    ...emptyAnswer,
    phase: undefined,
    outcome: 'COMPLETED',
    text: answer.response,
    model: answer.model,
    cost: answer.cost,
    tokens: answer.usage.total_tokens,
    latencyMs: answer.latency_ms,
  };
}
