import type { ReactNode } from 'react';
import { cx } from './cx';

export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad';

const tones: Readonly<Record<Tone, string>> = {
  neutral: 'bg-sunken text-muted border-line',
  accent: 'bg-accent-soft text-accent border-transparent',
  good: 'bg-good-soft text-good border-transparent',
  warn: 'bg-warn-soft text-warn border-transparent',
  bad: 'bg-bad-soft text-bad border-transparent',
};

export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) {
  return (
    <span
      className={cx(
        'inline-flex items-center gap-1 rounded border px-1.5 py-px text-xs font-medium whitespace-nowrap',
        tones[tone],
      )}
    >
      {children}
    </span>
  );
}

/** The tones of states that several resources share. */
const tonesOfStates: Readonly<Record<string, Tone>> = {
  active: 'good',
  published: 'good',
  completed: 'good',
  delivered: 'good',
  finished: 'good',
  enabled: 'good',
  engaged: 'good',
  ok: 'good',
  success: 'good',
  running: 'accent',
  queued: 'accent',
  pending: 'accent',
  waiting: 'warn',
  awaiting_approval: 'warn',
  started: 'accent',
  manual_handoff: 'warn',
  suspended: 'warn',
  draft: 'warn',
  cancelled: 'neutral',
  expired: 'neutral',
  archived: 'neutral',
  disabled: 'neutral',
  failed: 'bad',
  error: 'bad',
  timeout: 'bad',
  dead: 'bad',
  delivery_failed: 'bad',
  revoked: 'bad',
  blocked: 'bad',
};

/** A state as the API names it. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={tonesOfStates[status.toLowerCase()] ?? 'neutral'}>{status.replaceAll('_', ' ')}</Badge>;
}
