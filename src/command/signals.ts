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
