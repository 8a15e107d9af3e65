import { Paperclip, Wrench } from 'lucide-react';
import { Badge } from '../../../ui/badge';
import { Button } from '../../../ui/button';
import { Markdown } from '../../../ui/markdown';
import { count, dollars } from '../../../ui/numbers';
import { duration } from '../../../ui/time';
import type { Answer } from './answer';
import type { Exchange } from './conversation';

/** A question and its answer: tools, text, suggestions, and what it took. */
export function ExchangeView({
  exchange: { question, attachments, answer },
  onReply,
}: {
  readonly exchange: Exchange;
  readonly onReply: ((text: string) => void) | undefined;
}) {
  return (
    <div className="flex flex-col gap-2 text-sm">
      <div className="ml-8 self-end rounded-lg bg-accent-soft px-3 py-2">
        <p className="wrap-anywhere whitespace-pre-wrap">{question}</p>
        {attachments.map(({ name }, index) => (
          <p key={`${name} ${index}`} className="flex items-center gap-1 text-xs text-muted">
            <Paperclip size={12} aria-hidden /> {name}
          </p>
        ))}
      </div>
      <div className="flex min-w-0 flex-col gap-2">
        {answer.thinking !== '' && (
          <details className="text-xs text-muted">
            <summary>Thinking</summary>
            <p className="mt-1 wrap-anywhere whitespace-pre-wrap">{answer.thinking}</p>
          </details>
        )}
        {answer.tools.map(({ id, name, state, latencyMs }) => (
          <p key={id} className="flex flex-wrap items-center gap-1.5 text-xs">
            <Wrench size={12} aria-hidden className="text-muted" />
            <code className="font-mono">{name}</code>
            <Badge tone={state === 'finished' ? 'good' : state === 'started' ? 'accent' : 'bad'}>
              {state}
            </Badge>
            {latencyMs !== undefined && <span className="text-muted">{duration(latencyMs)}</span>}
          </p>
        ))}
        {answer.text !== '' && <Markdown text={answer.text} />}
        {answer.problem !== undefined && (
          <p role="alert" className="rounded-md bg-bad-soft px-2 py-1.5 wrap-anywhere text-bad">
            {answer.problem}
          </p>
        )}
        {onReply !== undefined && answer.replies.length > 0 && (
          <div className="flex flex-wrap gap-1.5" role="group" aria-label="Suggested replies">
            {answer.replies.map((label) => (
              <Button key={label} onClick={() => onReply(label)}>
                {label}
              </Button>
            ))}
          </div>
        )}
        <Cost answer={answer} />
      </div>
    </div>
  );
}

function Cost({ answer }: { readonly answer: Answer }) {
  const { phase, outcome, model, cost, tokens, latencyMs, firstTokenMs } = answer;
  if (phase !== undefined) return <p className="animate-pulse text-xs text-muted">{phase} …</p>;
  const parts = [
    outcome !== undefined && outcome !== 'COMPLETED' && outcome.toLowerCase(),
    model,
    cost !== undefined && dollars(cost),
    tokens !== undefined && `${count(tokens)} tokens`,
    latencyMs !== undefined && duration(latencyMs),
    firstTokenMs !== undefined && `first word after ${duration(firstTokenMs)}`,
  ].filter((part) => part !== false && part !== undefined && part !== '');
  return <p className="text-xs text-muted">{parts.join(' · ')}</p>;
}
