/** A value that is there already, or will be. */
export type Ready<Value> = Value | Promise<Value>;

/**
 * Goes on at once where the value is there. On the way of a request nearly every step has its answer in memory; a
 * promise for each would cost as much as the work itself.
 */
export function whenReady<Value, Result>(
  value: Ready<Value>,
  goOn: (value: Value) => Ready<Result>,
): Ready<Result> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
