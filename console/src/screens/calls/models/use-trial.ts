import { useEffect, useRef, useState } from 'react';
import type { CallEvent } from '@troupe/client';
import { troupe } from '../../../api/client';

/** One model's answer to the question, as it comes. */
export interface Answer {
  readonly model: string;
  readonly text: string;
  readonly state: 'running' | 'completed' | 'failed' | 'cancelled';
  readonly firstMs: number | undefined;
  readonly tookMs: number | undefined;
  readonly usage: CallEvent['usage'];
  readonly problem: string | undefined;
}

export interface Question {
  readonly query: string;
  readonly messages: { readonly role: 'system'; readonly content: string }[];
  readonly temperature: number;
  readonly max_tokens?: number;
  /** An answer of the response cache would say nothing of times. */
  readonly cache: false;
}

const begun = (model: string): Answer => ({
  model,
  text: '',
  state: 'running',
  firstMs: undefined,
  tookMs: undefined,
  usage: undefined,
  problem: undefined,
});

/** Asks several models the same at once. A new question ends what still runs. */
export function useTrial() {
  const [answers, setAnswers] = useState<readonly Answer[]>([]);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const ask = (models: readonly string[], question: Question): void => {
    running.current?.abort();
    const stopping = new AbortController();
    running.current = stopping;
    setAnswers(models.map(begun));
    models.forEach((model, at) => {
      const change = (part: (before: Answer) => Partial<Answer>): void => {
        if (running.current !== stopping) return;
        setAnswers((all) => all.map((one, other) => (other === at ? { ...one, ...part(one) } : one)));
      };
      void follow(model, question, stopping.signal, change);
    });
  };
  return { answers, ask, stop: (): void => running.current?.abort() };
}

async function follow(
  model: string,
  question: Question,
  signal: AbortSignal,
  change: (part: (before: Answer) => Partial<Answer>) => void,
): Promise<void> {
  const startedAt = performance.now();
  const tookMs = (): number => performance.now() - startedAt;
  try {
    for await (const { chunk, done, usage } of troupe.llm.stream({ ...question, model }, { signal })) {
      change(({ text, firstMs }) => ({
        text: text + chunk,
        firstMs: firstMs ?? (chunk === '' ? undefined : tookMs()),
        ...(done && { state: 'completed', tookMs: tookMs(), usage }),
      }));
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'An unexpected error occurred.';
    change(() =>
      signal.aborted
        ? { state: 'cancelled', tookMs: tookMs() }
        : { state: 'failed', tookMs: tookMs(), problem },
    );
  }
}
