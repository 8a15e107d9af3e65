import type { Time } from '../../cluster/index.js';
import type { Close } from './node/index.js';

export interface ClosingParts {
  readonly time: Pick<Time, 'after'>;
  readonly report: (error: unknown) => void;
}

/** What all parts may take once running requests have had their time; the mail that is being sent has 5 s. */
const closeMsMax = 5_500;

/**
 * Closes parts in order. After `signal` and a short time more it waits for none: a connection whose other side vanished
 * without a word takes the kernel's retransmissions, a quarter of an hour, to close, and a process that lost its lease so
 * must end to be started again.
 */
export async function closeAll(
  parts: readonly Close[],
  signal: AbortSignal,
  { time, report }: ClosingParts,
): Promise<void> {
  let timer: { cancel(): void } | undefined;
  let isOver = false;
  let stopWaiting = (): void => undefined;
  const over = new Promise<void>((resolve) => (stopWaiting = resolve));
  const begin = (): void => {
    timer = time.after(closeMsMax, () => {
      isOver = true;
      stopWaiting();
    });
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  for (const close of parts) {
    let isClosed = false;
    const closing = (async () => close(signal))().then(
      () => (isClosed = true),
      (error: unknown) => {
        isClosed = true;
        report(error);
      },
    );
    await Promise.race([closing, over]);
    // What closes without a wait has closed by the next tick.
    if (isOver) await Promise.resolve();
    if (!isClosed) report(new Error(`a part has not closed within ${closeMsMax} ms after the drain`));
  }
  signal.removeEventListener('abort', begin);
  timer?.cancel();
}
