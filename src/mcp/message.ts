import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isJsonObject, parseJson, parseUnchecked, refuseForbidden } from '../http/operations/index.js';
import { PlatformError } from '../kernel/errors.js';
import { chatTool } from './chat/chat-tool.js';

/** The message of a request. */
export interface Message {
  readonly body: unknown;
  /** What is wrong with the arguments of a tool. The tool answers with it, so that the model can correct itself. */
  readonly fault?: PlatformError | undefined;
  /** What is wrong with the rest of the message. */
  readonly refusal?: ProtocolError | undefined;
}

/** Throws if the bytes are no JSON. Characters and names that no request may have leave a message that can be answered. */
export function messageIn(bytes: Uint8Array): Message {
  try {
    return { body: parseJson(bytes, { prototypeNames: 'refuse' }) };
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'validation_error') throw error;
    return faultyMessage(parseUnchecked(bytes));
  }
}

/** The tools that take images and files. A large text for another one would pass as a file by the name of its field. */
const toolsWithAttachments: ReadonlySet<unknown> = new Set([chatTool.name, 'call_llm']);

/** The part of a message that may hold images and files. */
export function attachmentsIn(body: unknown): unknown {
  const params = isJsonObject(body) && body['method'] === 'tools/call' ? body['params'] : undefined;
  return isJsonObject(params) && toolsWithAttachments.has(params['name']) ? params['arguments'] : undefined;
}

function faultyMessage(body: unknown): Message {
  const call = isJsonObject(body) && body['method'] === 'tools/call' ? body : undefined;
  const params = call !== undefined && isJsonObject(call['params']) ? call['params'] : undefined;
  const rest = params === undefined ? body : { ...call, params: { ...params, arguments: null } };
  const outside = faultIn(rest, true);
  if (outside !== undefined) {
    return { body, refusal: new ProtocolError(ProtocolErrorCode.InvalidParams, outside.message) };
  }
  // A chat drops the names that reach a prototype and reports them as reserved, like the stream.
  return { body, fault: faultIn(params?.['arguments'], params?.['name'] !== chatTool.name) };
}

function faultIn(value: unknown, refuseNames: boolean): PlatformError | undefined {
  try {
    refuseForbidden(value, '', refuseNames);
    return undefined;
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
}
