/**
 * Calls `onExpired` after this time, unless it is cancelled before. After a stall of the event loop timers run before
 * the sockets are read, so an answer that came in time may still be unread: they are read first, and a call that this
 * ends is not given up.
 */
export function expiry(ms: number, onExpired: () => void): { cancel(): void } {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (immediate = setImmediate(onExpired)), ms);
  return {
    cancel: () => {
      clearTimeout(timer);
      clearImmediate(immediate);
    },
  };
}
