const everyMs = 10;

/**
 * A clock that counts only while this process gets a core, for promises in milliseconds: a pause of the machine of two
 * seconds, or other load, does not count as slow. A pause of the loop counts as two ticks, however long it was.
 */
export function servedTime(t: { teardown(fn: () => void): void }): () => number {
  let servedMs = 0;
  let seenMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    servedMs += Math.min(nowMs - seenMs, 2 * everyMs);
    seenMs = nowMs;
  }, everyMs);
  t.teardown(() => clearInterval(timer));
  return () => servedMs;
}
