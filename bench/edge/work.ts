export const benchKey = `svc_live_${'k'.repeat(43)}`;

/** A rate limit that never refuses but does the arithmetic. */
export function tokenBucket() {
  let tokens = 1e9;
  let at = performance.now();
  return {
    take(): boolean {
      const now = performance.now();
      tokens = Math.min(1e9, tokens + (now - at) * 1000) - 1;
      at = now;
      return tokens > 0;
    },
    left: () => Math.floor(tokens),
  };
}

export function quotaReply() {
  return {
    success: true,
    quota: {
      limit: 1_000_000_000,
      used: 0,
      remaining: 1_000_000_000,
      reset_date: '2026-12-01T00:00:00.000Z',
    },
  };
}
