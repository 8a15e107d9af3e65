/**
 * Resolves when the parent process is gone. A node that npm started must not outlive npm: it would hold the port and
 * the data folder unnoticed.
 */
export function starterGone(): Promise<'starter gone'> {
  const starter = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === starter) return;
      clearInterval(timer);
      resolve('starter gone');
    }, 500);
    timer.unref();
  });
}

/**
 * Resolves at the first Ctrl-C or SIGTERM. A second signal ends the process at once; all durable state survives that.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(130);
        asked = true;
        resolve(signal);
      });
    }
  });
}

/** `asked` resolves when the operator drains this node through another one or itself. */
export function drainAsked(): {
  readonly asked: Promise<'drained by the operator'>;
  readonly ask: () => void;
} {
  let ask = (): void => undefined;
  const asked = new Promise<'drained by the operator'>((resolve) => {
    ask = () => resolve('drained by the operator');
  });
  return { asked, ask };
}
