/** A value that is available now or later. */
export type Ready<Value> = Value | Promise<Value>;

/**
 * Continues synchronously if the value is available. Nearly every step of a request has its value in memory; a promise
 * for each step would cost as much as the work itself.
 */
export function whenReady<Value, Result>(
  value: Ready<Value>,
  goOn: (value: Value) => Ready<Result>,
): Ready<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
