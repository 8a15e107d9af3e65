import { depthMax, type RunnableAgent } from '../../agents/index.js';
import type { Usage } from '../../llm/index.js';
import { TurnParked } from './approvals.js';
import { workedMs } from './step-log.js';
import { subAgentsMax } from './sub-agent-count.js';
import { type CallPlace, mayRepeat } from './schema-tool.js';
import type { Arguments } from './tool-call.js';
import { refused, type ToolResult, unknownOutcome } from './tool-result.js';
import { toolsetOf, type TurnTool } from './toolset.js';
import type { ChildStep, RecordedStep, TurnEnd, TurnPorts, TurnStart } from './turn.js';
import type { TurnWork } from './turn-work.js';

export type SubAgentTool = Extract<TurnTool, { readonly kind: 'agent' }>;

/** Runs the turn of a sub-agent. It is passed in, because that turn is like any other. */
export type RunChild = (start: TurnStart, ports: TurnPorts, lineage: string) => Promise<TurnEnd>;

export interface SubAgentResult extends ToolResult {
  readonly usage?: Usage;
  readonly cost?: number;
  readonly admitted?: boolean | undefined;
  readonly agentId?: string;
  readonly steps?: readonly ChildStep[];
}

const childTimeoutMsDefault = 60_000;
const answerCharsMax = 20_000;
/** Steps of a sub-agent that its caller's step lists. */
const stepsMax = 100;

/**
 * Asks another agent, in a turn without a session of its own: same tenant, same caller, same context. Its parent
 * records it as one step, which lists the steps of the sub-agent; readers get no events of its progress.
 */
export async function callSubAgent(
  work: TurnWork,
  { schema }: SubAgentTool,
  args: Arguments,
  place: CallPlace,
  run: RunChild,
): Promise<SubAgentResult> {
  const { start, ports, interruption, lineage } = work;
  if (start.depth >= depthMax) {
    return refused(`Agents may call each other ${depthMax} deep, and this one is there. Answer without it.`);
  }
  const { parked } = place;
  const agent = await childOf(work, schema.editor_schema.agent.agent_id, parked?.version);
  if (agent === undefined) return refused('The agent is not available.');
  if (place.again && parked === undefined && !(await isRepeatable(work, agent))) return unknownOutcome;
  if (!work.subAgents.begin()) {
    return refused(
      `One message may use ${subAgentsMax} agents, those that its agents ask included, and has. Answer without more of them.`,
    );
  }
  const timeoutMs = start.agent.snapshot.metadata.security_policy?.child_timeout_ms ?? childTimeoutMsDefault;
  const steps = new Map<number, RecordedStep>();
  for (const step of parked?.steps ?? []) steps.set(step.number, step);
  const keep = (recorded: readonly RecordedStep[]): void => {
    for (const step of recorded) steps.set(step.number, step);
  };
  const end = await run(
    {
      ...start,
      agentId: agent.id,
      agent,
      depth: start.depth + 1,
      message: questionIn(args),
      attachments: [],
      responseFormat: undefined,
      history: [],
      summary: undefined,
      facts: [],
      quickReplies: false,
      // Its clock leaves out what it worked before it waited, which the clock of this turn has counted already.
      deadlineMs: Math.min(
        timeoutMs,
        interruption.remainingMs() + workedMs(parked?.steps ?? [], start.waits),
      ),
      // Of an interrupted sub-agent without records it is unknown who paid for its calls.
      admitted: start.admitted === true || work.totals.admitted || (place.again && parked === undefined),
      recorded: parked?.steps ?? [],
      traceparent: place.traceparent,
    },
    {
      emit: () => undefined,
      // What a person decided must not be done twice: from then on each step is durable before the next begins.
      record: async (recorded) => {
        keep(recorded);
        if (parked !== undefined)
          await place.keepParked?.({ steps: [...steps.values()], version: agent.version ?? undefined });
      },
      mayAct: () => ports.mayAct(),
      ...(ports.effectsClear !== undefined && { effectsClear: ports.effectsClear }),
      signal: interruption.subAgentSignal,
    },
    `${lineage}:${place.number}:${place.index}`,
  ).catch((error: unknown) => {
    if (!(error instanceof TurnParked)) throw error;
    keep(error.steps);
    throw new TurnParked(error.approvals, [...steps.values()], agent.version);
  });
  // The step of an interrupted call is not recorded, so its usage is counted here.
  if (interruption.by !== undefined) work.totals.add(end);
  interruption.check();
  keep(end.steps);
  return {
    ...resultOf(end, timeoutMs),
    usage: end.usage,
    cost: end.cost,
    admitted: end.admitted,
    agentId: agent.id,
    steps: shown(steps),
  };
}

function shown(steps: ReadonlyMap<number, RecordedStep>): readonly ChildStep[] {
  return [...steps.values()]
    .toSorted((one, other) => one.number - other.number)
    .slice(0, stepsMax)
    .map(({ detail, ...step }) =>
      detail?.step === 'tool' && detail.steps !== undefined
        ? { ...step, ...(detail.agentId !== undefined && { agentId: detail.agentId }), steps: detail.steps }
        : step,
    );
}

function resultOf({ outcome, content, error }: TurnEnd, timeoutMs: number): ToolResult {
  const said =
    content.length > answerCharsMax ? `${content.slice(0, answerCharsMax).toWellFormed()}…` : content;
  switch (outcome) {
    case 'COMPLETED':
      return { state: 'finished', text: said === '' ? 'The agent answered nothing.' : said };
    case 'TIMEOUT': {
      const what = `The agent did not answer in time (${timeoutMs} ms).`;
      return { state: 'timeout', text: said === '' ? what : `${what} So far it said:\n${said}` };
    }
    default:
      return refused(`The agent could not answer: ${error?.message ?? 'it was interrupted'}`);
  }
}

/**
 * A caller who may run a draft sees drafts, so its sub-agents may be drafts too. A published agent runs published
 * ones. One that waited goes on with its version: a person approved the call that this version makes.
 */
async function childOf(
  { parts, start }: Pick<TurnWork, 'parts' | 'start'>,
  id: string,
  version?: number,
): Promise<RunnableAgent | undefined> {
  const current = await parts.runnableAgent(
    start.scope,
    id,
    start.agent.version === null ? 'editor' : 'member',
  );
  if (version === undefined || current?.version === version) return current;
  const snapshot = await parts.agentVersion(start.scope, id, version);
  if (snapshot === undefined) return undefined;
  return { id, version, snapshot, rateLimit: null, allowedUsers: new Set(), approved: null };
}

/**
 * An interrupted sub-agent may be called again if all of its tools can be repeated without harm. Each agent below it is looked
 * at once, on its highest level, from which it reaches furthest; of more agents than one turn may ask, none is repeated.
 */
async function isRepeatable(work: TurnWork, agent: RunnableAgent): Promise<boolean> {
  const seen = new Set<string>();
  let level = [agent];
  for (let depth = work.start.depth + 1; level.length > 0; depth += 1) {
    const below: RunnableAgent[] = [];
    for (const one of level) {
      work.interruption.check();
      for (const tool of toolsetOf(one.snapshot, false).tools.values()) {
        if (tool.kind !== 'agent') {
          if (!mayRepeat(tool)) return false;
          continue;
        }
        const { agent_id: id } = tool.schema.editor_schema.agent;
        // A draft sees drafts.
        const sight = `${id} ${one.version === null ? 'editor' : 'member'}`;
        if (depth >= depthMax || seen.has(sight)) continue;
        if (seen.size >= subAgentsMax) return false;
        seen.add(sight);
        const child = await childOf({ parts: work.parts, start: { ...work.start, agent: one } }, id);
        if (child !== undefined) below.push(child);
      }
    }
    level = below;
  }
  return true;
}

function questionIn(args: Arguments): string {
  const { message } = args;
  return typeof message === 'string' && Object.keys(args).length === 1 ? message : JSON.stringify(args);
}
