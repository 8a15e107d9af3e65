import type { AuditContext, FieldChanges } from '../../kernel/audit-context.js';
import { actorOf, type Caller, type TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import { type RequestOrigin, withOrigin } from '../../kernel/request-origin.js';
import { auditedScope } from '../../kernel/tenant-scope.js';
import { fieldChanges } from './audit-changes.js';
import {
  actionOf,
  type AuditTrail,
  type EntryOfOperation,
  mayWriteEntries,
  targetKindOf,
} from './audit-rule.js';
import { isJsonObject, type JsonObject } from './merge-patch.js';
import type { Operation, OperationRequest, RefusedRequest } from './operation.js';
import { JsonReply } from './reply.js';
import { requestWith } from './request-with.js';

/** A refused attempt on members, keys, secrets and the control of sessions (decisions on their tools too) is an entry. */
const watched = /^(?:members|invites|keys|secrets)\.|^auth\.token$|^sessions\.(?!create$)|^approvals\./;

const forbidden = 403;

/** The operations, each of which leaves the entry that it declares. */
export function audited(operations: readonly Operation[], trail: AuditTrail): readonly Operation[] {
  const readers = new Map(
    operations.filter(({ method }) => method === 'GET').map((reader) => [addressOf(reader.path), reader]),
  );
  return operations.map((operation) => {
    const action = actionOf(operation.audit);
    if (action === undefined) {
      const carries = operation.method !== 'GET' && mayWriteEntries(operation.audit);
      return carries ? withOriginOf(operation) : operation;
    }
    return withEntries(operation, action, readers.get(addressOf(thingOf(operation.path))), trail);
  });
}

/** The subject writes the entries, if any; the request's tenant may be unknown until then. */
function withOriginOf(operation: Operation): Operation {
  return {
    ...operation,
    handle: (request) => withOrigin(originOf(request), () => operation.handle(request)),
  };
}

function originOf({ requestId, caller }: OperationRequest): RequestOrigin {
  return { requestId, address: caller.address };
}

function withEntries(
  operation: Operation,
  action: string,
  reader: Operation | undefined,
  trail: AuditTrail,
): Operation {
  const isWatched = watched.test(action);
  const refused = async (request: RefusedRequest, error: PlatformError): Promise<void> => {
    if (!isWatched || error.status !== forbidden || !isTenantCaller(request.caller)) return;
    const context = contextOf(action, request, {}, null);
    const entry = entryOf(operation, context, request.caller, request.params);
    await trail.recordRefusal(auditedScope(request.caller.scope, context), entry);
  };
  return {
    ...operation,
    refused,
    async handle(request) {
      const { caller } = request;
      if (!isTenantCaller(caller)) return withOrigin(originOf(request), () => operation.handle(request));
      const before = await readBefore(operation, reader, request);
      const changes = fieldChanges(operation, before, request.body);
      const context = contextOf(action, request, changes, nameIn(before) ?? nameIn(request.body));
      const scope = auditedScope(caller.scope, context);
      let answer: unknown;
      try {
        answer = await operation.handle(requestWith(request, { caller: { ...caller, scope } }));
      } catch (error) {
        if (error instanceof PlatformError) await refused(request, error);
        throw error;
      }
      if (context.recorded === null) {
        const entry = entryOf(operation, context, caller, request.params, dataOf(answer));
        await trail.record(scope, entry);
      }
      return answer;
    },
  };
}

function isTenantCaller(caller: Caller): caller is TenantCaller {
  return caller.kind === 'key' || caller.kind === 'tenant-user';
}

function contextOf(
  action: string,
  { caller, requestId }: Pick<OperationRequest, 'caller' | 'requestId'>,
  changes: FieldChanges,
  targetName: string | null,
): AuditContext {
  const { address } = caller;
  return {
    action,
    targetKind: targetKindOf(action),
    targetName,
    requestId,
    address,
    changes,
    recorded: null,
  };
}

function entryOf(
  { path, status }: Operation,
  { action, targetKind, targetName }: AuditContext,
  caller: TenantCaller,
  params: unknown,
  answered?: JsonObject,
): EntryOfOperation {
  const makes = status === 201;
  const made = makes ? idIn(answered) : undefined;
  // A thing that was refused has no id; the path has that of what it would belong to.
  const found = makes && answered === undefined ? undefined : idInPath(path, params);
  const id = made ?? found ?? idIn(answered) ?? '';
  return {
    actor: actorOf(caller),
    action,
    subject: `${targetKind}:${id}`,
    targetName: targetName ?? nameIn(answered),
  };
}

/** The thing as its own GET answers it, a moment before the change. What cannot be read has no old values. */
async function readBefore(
  operation: Operation,
  reader: Operation | undefined,
  request: OperationRequest,
): Promise<JsonObject | undefined> {
  if (reader === undefined || operation.status === 201) return undefined;
  try {
    return dataOf(await reader.handle(requestWith(request, { query: {}, body: undefined })));
  } catch (error) {
    // The operation itself answers for a thing that is not there.
    if (error instanceof PlatformError) return undefined;
    throw error;
  }
}

/** `/api/agents/:id/publish` → `/api/agents/:id`: a path that ends in a verb changes the thing before it. */
function thingOf(path: string): string {
  const thing = path.replace(/\/[^/:]+$/, '');
  return path.includes('/:') && !/\/:[^/]+$/.test(path) ? thing : path;
}

function addressOf(path: string): string {
  return path.replaceAll(/:[^/]+/g, ':');
}

/** The last id of the path. Versions have numbers: the id before names the agent. */
function idInPath(path: string, params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null) return undefined;
  const names = [...path.matchAll(/:([^/]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'version');
  const value = (params as Record<string, unknown>)[names.at(-1) ?? ''];
  return typeof value === 'string' ? value : undefined;
}

function dataOf(answer: unknown): JsonObject | undefined {
  const body = answer instanceof JsonReply ? answer.body : answer;
  if (!isJsonObject(body)) return undefined;
  return isJsonObject(body['data']) ? body['data'] : body;
}

function idIn(thing: JsonObject | undefined): string | undefined {
  const id = thing?.['id'] ?? thing?.['session_id'] ?? thing?.['execution_id'];
  return typeof id === 'string' ? id : undefined;
}

function nameIn(thing: unknown): string | null {
  const name = isJsonObject(thing) ? thing['name'] : undefined;
  return typeof name === 'string' ? name : null;
}
