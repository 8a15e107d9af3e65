import { useEffect, useState } from 'react';

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

export function fromNow(at: Date, nowMs: number): string {
  const apartMs = at.getTime() - nowMs;
  if (Math.abs(apartMs) < 1_000) return 'now';
  const [unit, ms] = units.find(([, one]) => Math.abs(apartMs) >= one) ?? ['second', 1_000];
  return relative.format(Math.trunc(apartMs / ms), unit);
}

/**
 * A moment of the API in the person's zone, with the exact moment on hover. `exactly`: as date and time; otherwise as the
 * distance from now, which moves on.
 */
export function Time({ at, exactly = false }: { readonly at: string | null; readonly exactly?: boolean }) {
  if (at === null) return <span className="text-muted">never</span>;
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={`${exact.format(moment)} · ${at}`} className="whitespace-nowrap">
      {/* A newer moment is seen from its own present: from that of half a minute ago it would lie ahead. */}
      {exactly ? short.format(moment) : <FromNow key={at} at={moment} />}
    </time>
  );
}

function FromNow({ at }: { readonly at: Date }) {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return fromNow(at, nowMs);
}

/** `1.24 s`, `83 ms`, `3 min 4 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
