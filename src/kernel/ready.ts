/** A value that is available now or later. */
export type Ready<Value> = Value | Promise<Value>;

/**
 * Whether the value is there without waiting. Nearly every step of a request has its value in memory; each `await` of
 * one costs some 90 ns (Node 20, small machine) where this question costs 2, and lets other work in between. Only hot
 * paths ask; everything else awaits.
 */
export function isReady<Value>(value: Ready<Value>): value is Value {
  return !(value instanceof Promise);
}

/** Continues synchronously if the value is available. */
export function whenReady<Value, Result>(
  value: Ready<Value>,
  goOn: (value: Value) => Ready<Result>,
): Ready<Result> {
  return isReady(value) ? goOn(value) : value.then(goOn);
}
