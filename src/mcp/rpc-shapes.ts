/** The messages of the Model Context Protocol, as the documents show them. The protocol's own library reads them. */
import { z } from 'zod';
import { named } from '../http/operations/index.js';

const id = z.union([z.string(), z.number()]);
const version = z.literal('2.0');

export const rpcRequestShape = named(
  'RpcRequest',
  z.looseObject({
    jsonrpc: version,
    id: id.optional().describe('Left out by notifications.'),
    method: z.string().describe('Such as `initialize`, `tools/list` and `tools/call`.'),
    params: z.looseObject({}).optional(),
  }),
);

export const rpcErrorShape = named(
  'RpcError',
  z.looseObject({
    jsonrpc: version,
    id: id.nullish(),
    error: z.looseObject({ code: z.int(), message: z.string() }),
  }),
);

const result = named('RpcResult', z.looseObject({ jsonrpc: version, id, result: z.looseObject({}) }));
const notification = named(
  'RpcNotification',
  z.looseObject({ jsonrpc: version, method: z.string(), params: z.looseObject({}).optional() }),
);

export const rpcAnswerShape = named('RpcMessage', z.union([result, rpcErrorShape, notification]));
