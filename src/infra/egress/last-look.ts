import type { Dispatcher } from 'undici';
import { EgressError } from './egress-error.js';

/** Asked right before a request is written to its connection. False withdraws the request, which was never sent then. */
export type MayBegin = () => boolean;

/**
 * A request may wait long between the call and its first byte: for a name, a connection, TLS, or because the process was
 * stopped. So the question comes with the request, as its `opaque` value, and is put at the last moment.
 */
export const lastLook: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const mayBegin: unknown = Reflect.get(options, 'opaque');
  if (typeof mayBegin !== 'function') return dispatch(options, handler);
  const start = handler.onRequestStart?.bind(handler);
  // Called right before the bytes are written. The handler keeps state, so its method is replaced, and it is not copied.
  handler.onRequestStart = (controller, context) => {
    start?.(controller, context);
    if (!controller.aborted && mayBegin() !== true) controller.abort(withdrawn(options.origin));
  };
  return dispatch(options, handler);
};

function withdrawn(origin: Dispatcher.DispatchOptions['origin']): EgressError {
  return new EgressError('withdrawn', 'The request was not sent: this process may no longer act.', {
    host: new URL(String(origin)).hostname,
    neverSent: true,
  });
}
