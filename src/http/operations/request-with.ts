import type { OperationRequest } from './operation.js';

/** The same request by another caller, or with other input. Signals are made only when the handler asks for them. */
export function requestWith(
  request: OperationRequest,
  other: Partial<Pick<OperationRequest, 'caller' | 'params' | 'query' | 'body' | 'repeat'>>,
): OperationRequest {
  return {
    caller: request.caller,
    params: request.params,
    query: request.query,
    body: request.body,
    rawBody: request.rawBody,
    rawQuery: request.rawQuery,
    headers: request.headers,
    requestId: request.requestId,
    secretsTo: request.secretsTo,
    repeat: request.repeat,
    isHead: request.isHead,
    ...other,
    get signal() {
      return request.signal;
    },
    get leaving() {
      return request.leaving;
    },
  };
}
