import {
  type CallOptions,
  type Caller,
  ClusterError,
  type Method,
  ReplyStream,
  type Target,
} from '../../../cluster/index.js';

/**
 * Forwards calls to a node that may not have started yet, or may have stopped. References created before the start work
 * once the node has started.
 */
export class LateCaller implements Caller {
  caller: Caller | undefined;

  unary(target: Target, method: Method, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    return this.caller?.unary(target, method, input, options) ?? Promise.reject(notServing());
  }

  stream(target: Target, method: Method, input: unknown, options: CallOptions | undefined): unknown {
    return this.caller?.stream(target, method, input, options) ?? endedStream(notServing());
  }
}

function notServing(): ClusterError {
  return new ClusterError('not_serving', 'this node is starting or has stopped', { notBegun: true });
}

function endedStream(error: ClusterError): ReplyStream<unknown> {
  const stream = new ReplyStream<unknown>(1, { grant() {}, cancel() {} });
  stream.finish(error);
  return stream;
}
