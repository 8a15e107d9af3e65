import type { components } from '@troupe/client';
import { StatusBadge } from './badge';
import { count, dollars } from './numbers';
import { duration } from './time';

type Attempt = components['schemas']['CallAttempt'];

/** Which vendors were asked for one call, how each ended, and what it cost. */
export function AttemptsTable({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <ol className="flex flex-col gap-2">
      {attempts.map((one) => (
        <li key={one.number} className="rounded-md border border-line p-2 text-sm">
          <div className="flex flex-wrap items-center gap-2">
            <span className="font-medium">
              {one.number}. {one.provider} · {one.model}
            </span>
            <StatusBadge status={one.outcome ?? 'running'} />
            {one.payer === 'tenant' && <span className="text-xs text-muted">your own key</span>}
          </div>
          {one.failure !== null && <p className="mt-1 text-bad wrap-anywhere">{one.failure}</p>}
          <p className="mt-1 text-xs text-muted">
            {one.first_token_ms !== null && `first word after ${duration(one.first_token_ms)} · `}
            {one.latency_ms !== null && `${duration(one.latency_ms)} · `}
            {count(one.input_tokens)} in, {count(one.output_tokens)} out · {dollars(one.cost)}
          </p>
        </li>
      ))}
    </ol>
  );
}
