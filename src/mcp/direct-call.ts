import { RawReply } from '../http/operations/index.js';
import { type Ready, whenReady } from '../kernel/ready.js';
import { chatTool } from './chat/chat-tool.js';
import type { ClientRequest } from './client-request.js';
import { directRequestIn } from './direct-request.js';
import { isShown, isWhole } from './narrowing.js';
import { callTool } from './tools/call-tool.js';
import type { ToolCatalogue } from './tools/catalogue.js';
import type { CallToolParts } from './tools/call-tool.js';
import type { ToolOutcome } from './tools/tool-result.js';

const serverInfoKey = 'io.modelcontextprotocol/serverInfo';

export interface DirectCallParts extends CallToolParts {
  readonly catalogue: ToolCatalogue;
  readonly version: string;
  readonly listHint: { readonly ttlMs: number; readonly cacheScope: string };
}

/**
 * Answers the common tool call and the list of tools without the library, which takes 1.3 ms of CPU for a request (a
 * server, two web requests and a transport each), forty times the work of a small read. Undefined for everything else:
 * the library answers that, and a test holds both answers to be equal.
 */
export function directAnswer(
  parts: DirectCallParts,
  request: ClientRequest,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  left: () => AbortSignal,
): Ready<RawReply> | undefined {
  const direct = directRequestIn(body, headers);
  if (direct === undefined) return undefined;
  const { id } = direct;
  const { caller, narrowing } = request;
  if (direct.method === 'tools/list') {
    if (!isWhole(narrowing)) return undefined;
    const { catalogue, listHint } = parts;
    const hint = `"ttlMs":${listHint.ttlMs},"cacheScope":"${listHint.cacheScope}"`;
    return replyOf(parts, id, `${hint},"tools":${catalogue.textOf(caller.role)}`);
  }
  const found = parts.catalogue.named(direct.name);
  if (found === undefined || found.tool === chatTool || !isShown(found, narrowing)) return undefined;
  const context = { id, left, idempotencyKey: undefined, progress: undefined };
  return whenReady(callTool(parts, request, found, direct.args, context), (outcome) =>
    replyOf(parts, id, outcomeText(outcome)),
  );
}

function replyOf({ version }: DirectCallParts, id: string | number, fields: string): RawReply {
  return new RawReply(
    'application/json',
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"_meta":{"${serverInfoKey}":{"name":"troupe",` +
      `"title":"Troupe","version":"${version}"}},"resultType":"complete",${fields}}}`,
  );
}

/** The protocol wants the answer as text and as an object. The JSON is joined from parts, so it is made only once. */
function outcomeText({ text, isError, note }: ToolOutcome): string {
  const noteText = note === undefined ? '' : `,{"type":"text","text":${JSON.stringify(note)}}`;
  return (
    `"content":[{"type":"text","text":${JSON.stringify(text)}}${noteText}],"structuredContent":${text}` +
    (isError ? ',"isError":true' : '')
  );
}
