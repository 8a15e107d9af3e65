/** What the client needs of its runtime, handed in so that tests wait for nothing. */
export interface Surroundings {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly nowMs: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly newId: () => string;
  /** Calls once after this time, unless the returned function is called before. */
  readonly after: (milliseconds: number, call: () => void) => () => void;
}

export const systemSurroundings: Surroundings = {
  // Looked up at each call: `fetch` may be replaced later, and browsers refuse it without its window.
  fetch: (request) => globalThis.fetch(request),
  nowMs: () => Date.now(),
  random: () => Math.random(),
  newId: newIdempotencyKey,
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Random also on pages without TLS, where browsers offer no `crypto.randomUUID`. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Resolves after the time; rejects with the signal's reason if it aborts before. */
export function wait(
  { after }: Pick<Surroundings, 'after'>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = after(milliseconds, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Settles as the work does; rejects with the signal's reason if it aborts before, whether or not the work ends then. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(reasonOf(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** As `fetch` rejects. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException('The request was aborted.', 'AbortError');
}
