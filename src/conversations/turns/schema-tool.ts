import { createHash } from 'node:crypto';
import { TurnLost } from './interruption.js';
import type { Arguments } from './tool-call.js';
import { answered, failureOf, refused, type ToolResult, unknownOutcome } from './tool-result.js';
import type { Parked } from './step-log.js';
import type { TurnTool } from './toolset.js';
import type { TurnWork } from './turn-work.js';

export type SchemaTool = Extract<TurnTool, { readonly kind: 'api' | 'mcp' }>;

const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE']);

/** Whether a call may be repeated when it is unknown whether it arrived. */
export function mayRepeat(tool: SchemaTool): boolean {
  if (tool.kind === 'mcp') return tool.tool.repeatable === true;
  const { idempotent, method } = tool.schema.editor_schema.api;
  return idempotent ?? repeatableMethods.has(method);
}

export interface CallPlace {
  /** The number of the step. */
  readonly number: number;
  /** The position among the calls of its round. */
  readonly index: number;
  /** Started by an earlier process. */
  readonly again: boolean;
  /** A sub-agent that waited for an approval. */
  readonly parked?: Parked | undefined;
  /** The span of the call, for the turn of a sub-agent. */
  readonly traceparent?: string | undefined;
  /** Keeps its steps from then on; durable when it resolves. */
  readonly keepParked?: (parked: Parked) => Promise<void>;
}

/** Calls the tool of a schema. Throws only errors that end the turn, and unknown errors. */
export async function callSchemaTool(
  { parts, ports, start, interruption, lineage }: TurnWork,
  tool: SchemaTool,
  args: Arguments,
  place: CallPlace,
): Promise<ToolResult> {
  if (place.again && !mayRepeat(tool)) return unknownOutcome;
  try {
    const answer = await parts.tools.call({
      scope: start.scope,
      schema: tool.schema,
      approved: start.agent.approved,
      ...(tool.kind === 'mcp' && { tool: tool.tool.name }),
      args,
      context: start.toolContext,
      strict: parts.contextStrict,
      idempotencyKey: idempotencyKey(start.executionId, lineage, place, args),
      mayBegin: () => ports.mayAct(),
      signal: interruption.signal,
    });
    if (answer.missing.length > 0) {
      parts.note('a tool was called without a value that it needs from the context', {
        tenant: start.scope.tenantId,
        execution: start.executionId,
        tool: tool.schema.name,
        missing: answer.missing,
      });
    }
    return answered(answer);
  } catch (error) {
    interruption.check();
    if (!ports.mayAct()) throw new TurnLost(error);
    const failure = failureOf(error);
    if (failure !== undefined) return failure;
    parts.report('calling a tool', error);
    return refused('The tool could not be used.');
  }
}

/**
 * The same for the same call, in whatever process. A sub-agent that runs again asks its model anew and may make
 * other calls in the same places, so there the arguments are part of the key.
 */
function idempotencyKey(
  executionId: string,
  lineage: string,
  { number, index }: CallPlace,
  args: Arguments,
): string {
  const place = `${executionId}${lineage}:${number}:${index}`;
  if (lineage === '') return place;
  return `${place}:${createHash('sha256').update(JSON.stringify(args)).digest('hex').slice(0, 16)}`;
}
