/**
 * Resolves when the process that started this one is gone. A node that npm started belongs to that npm: left behind,
 * it would hold the port and the data folder without anybody knowing.
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
 * Resolves at the first Ctrl-C or SIGTERM. A second one means that somebody does not want to wait: the process ends
 * at once, which everything durable is made to survive.
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
