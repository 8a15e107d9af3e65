/**
 * A turn from its first step to its last: load, intent, rounds of model and tools, finish. Every end is returned as
 * a `TurnEnd`; thrown are only `TurnLost`, when another process owns the turn by now, and `TurnParked`, when it waits for
 * approvals.
 */
import { callSources } from '../../models/calls/index.js';
import { modelMeantBy } from '../../kernel/model-aliases.js';
import { storableValue } from '../../kernel/storable-text.js';
import type { WorkSpan } from '../../infra/diagnostics/index.js';
import type { Message } from '../../llm/index.js';
import { TurnParked } from './approvals.js';
import {
  askedAgain,
  responseFormatMismatch,
  type SchemaFormat,
  schemaFormatOf,
} from '../../models/response-format/index.js';
import type { CallRequest, CallSource } from './ask-model.js';
import { endingOf, turnEnd } from './ending.js';
import { intentOf } from './intent-check.js';
import { Interruption } from './interruption.js';
import { modelRound } from './model-round.js';
import type { TurnsParts } from './parts.js';
import { conversation } from './prompt.js';
import { quickRepliesOf, suggestionsName, suggestsReplies } from './quick-replies.js';
import { TurnOutput } from './turn-output.js';
import { StepLog, workedMs } from './step-log.js';
import { TurnTokens } from './turn-usage.js';
import { SubAgentCount } from './sub-agent-count.js';
import type { RunChild } from './sub-agent.js';
import { argumentsOf, callsIn } from './tool-call.js';
import { toolRound } from './tool-round.js';
import { agentSpan, endAgentSpan } from './turn-spans.js';
import { toolsetOf } from './toolset.js';
import type { QuickReplies, TurnEnd, TurnPorts, TurnStart } from './turn.js';
import type { TurnWork } from './turn-work.js';

/** The place of a turn among those that belong to one message. */
type Place = Pick<TurnWork, 'lineage' | 'subAgents'>;

export async function runTurn(
  parts: TurnsParts,
  start: TurnStart,
  ports: TurnPorts,
  place: Place = { lineage: '', subAgents: new SubAgentCount() },
): Promise<TurnEnd> {
  const span = agentSpan(parts, start);
  if (span === undefined) return runWork(parts, start, ports, place, span);
  try {
    const end = await runWork(parts, start, ports, place, span);
    endAgentSpan(span, end);
    return end;
  } catch (error) {
    // A wait for people is no failure; whoever goes on begins a span of its own.
    if (!(error instanceof TurnParked)) span.fail('turn_lost');
    span.end();
    throw error;
  }
}

async function runWork(
  parts: TurnsParts,
  start: TurnStart,
  ports: TurnPorts,
  place: Place,
  span: WorkSpan | undefined,
): Promise<TurnEnd> {
  const work: TurnWork = {
    parts,
    start,
    ports,
    ...place,
    interruption: new Interruption(parts.time, ports.signal),
    steps: new StepLog(start.recorded, ports, parts.time),
    output: new TurnOutput((event) => ports.emit(event), parts.time),
    totals: new TurnTokens(),
    span,
  };
  try {
    work.interruption.check();
    const { blocks, parsed } = await answer(work);
    work.interruption.check();
    ports.emit({ type: 'phase', name: 'finish' });
    return turnEnd(work, { outcome: 'COMPLETED', ...(parsed !== undefined && { parsed }) }, blocks);
  } catch (error) {
    const ending = endingOf(error, work);
    takeUnread(work);
    return turnEnd(work, ending, []);
  } finally {
    work.interruption.stop();
  }
}

/** What an earlier process recorded and this one did not come to belongs to the turn all the same. */
function takeUnread({ start, steps, totals, output }: TurnWork): void {
  const { unread } = steps;
  totals.addSteps(unread);
  if (formatOf(start) === undefined) output.repeatSteps(unread);
}

interface Answered {
  readonly blocks: readonly QuickReplies[];
  readonly parsed?: unknown;
}

async function answer(work: TurnWork): Promise<Answered> {
  const { start, ports, interruption, output } = work;
  const { snapshot } = start.agent;
  const format = formatOf(start);
  if (format !== undefined) output.hold();
  ports.emit({ type: 'status', state: 'running' });
  ports.emit({ type: 'phase', name: 'load' });
  const toolset = toolsetOf(snapshot, start.quickReplies && suggestsReplies(snapshot, start.responseFormat));
  ports.emit({ type: 'phase', name: 'intent' });
  interruption.startClock(start.deadlineMs - workedMs(start.recorded, start.waits));
  const intent = await intentOf(work);
  const asked: Asked = { toolset, messages: conversation(start, capabilitiesOf(work)), format };
  const said = await (intent === 'task' ? runRounds(work, asked) : answerWithoutTools(work, asked));
  return format === undefined ? said : fittingAnswer(work, format, said);
}

/** Undefined if the service chooses the model: it chooses one that takes what the conversation has. */
function capabilitiesOf({ parts, start }: TurnWork): ReadonlySet<string> | undefined {
  const found = parts.catalogue.resolve(modelMeantBy(start.limits, start.agent.snapshot.llm_config.model));
  return 'model' in found ? found.model.capabilities : undefined;
}

interface Asked {
  readonly toolset: ReturnType<typeof toolsetOf>;
  readonly messages: readonly Message[];
  readonly format: SchemaFormat | undefined;
}

/** What was said, and how to ask for it once more. */
interface Said extends Answered {
  readonly source: CallSource;
  readonly request: CallRequest['request'];
}

function formatOf({ responseFormat, agent }: TurnStart): SchemaFormat | undefined {
  if (responseFormat !== undefined) return responseFormat;
  const own = agent.snapshot.llm_config.response_format;
  return own === undefined ? undefined : schemaFormatOf(own);
}

/** Checks the answer, which nobody has seen yet, and asks for it once more if it does not fit. */
async function fittingAnswer(work: TurnWork, format: SchemaFormat, said: Said): Promise<Answered> {
  const { parts, start, output, interruption } = work;
  let fitting = await parts.fit.of(start.scope, format, output.held);
  interruption.check();
  if (fitting.mismatch !== undefined) {
    const messages = askedAgain(said.request.messages, output.held, fitting.mismatch);
    await modelRound(work, said.source, { ...said.request, messages });
    fitting = await parts.fit.of(start.scope, format, output.held);
    interruption.check();
  }
  if (fitting.mismatch !== undefined) throw responseFormatMismatch(fitting.mismatch);
  output.release();
  return { blocks: said.blocks, parsed: storableValue(fitting.parsed) };
}

/** One answer without the agent's tools. It can still suggest replies. */
async function answerWithoutTools(
  work: TurnWork,
  { toolset: { definitions }, messages, format }: Asked,
): Promise<Said> {
  const tools = work.start.quickReplies ? definitions.filter(({ name }) => name === suggestionsName) : [];
  const source = callSources.lightResponse;
  const request = {
    messages,
    cachePrompt: true,
    ...(tools.length > 0 && { tools }),
    ...(format !== undefined && { responseFormat: format }),
  };
  const said = await modelRound(work, source, request);
  for (const call of callsIn(said.parts)) {
    const suggested =
      tools.length > 0 && call.name === suggestionsName ? quickRepliesOf(argumentsOf(call)) : undefined;
    if (suggested !== undefined) return { source, request, blocks: [suggested] };
  }
  return { source, request, blocks: [] };
}

/** Rounds of the model and its tools, until the model calls none or only suggests replies. */
async function runRounds(
  work: TurnWork,
  { toolset, messages: conversationSoFar, format }: Asked,
): Promise<Said> {
  const { parts, start, subAgents } = work;
  const runChild: RunChild = (child, ports, lineage) => runTurn(parts, child, ports, { lineage, subAgents });
  const roundsMax = start.agent.snapshot.llm_config.max_tool_rounds;
  const tools = toolset.definitions;
  const maySuggest = tools.some(({ name }) => name === suggestionsName);
  const messages = [...conversationSoFar];
  let suggested: QuickReplies | undefined;
  for (let round = 0; ; round += 1) {
    // The last round still declares the tools, because some vendors refuse a conversation with calls of undeclared
    // tools; the model may not call them.
    const mayCall = round < roundsMax;
    const said = await modelRound(work, callSources.toolLoop, {
      messages,
      cachePrompt: true,
      ...(tools.length > 0 && { tools }),
      ...(tools.length > 0 && !mayCall && { toolChoice: 'none' }),
      ...(format !== undefined && { responseFormat: format }),
    });
    const calls = callsIn(said.parts);
    if (calls.length === 0 || !mayCall) break;
    const suggesting = calls.filter(({ name }) => maySuggest && name === suggestionsName);
    const others = calls.filter((call) => !suggesting.includes(call));
    for (const call of suggesting) suggested ??= quickRepliesOf(argumentsOf(call));
    if (others.length === 0 && suggested !== undefined) break;
    messages.push({ role: 'assistant', content: said.parts });
    if (others.length > 0) {
      for (const message of await toolRound(work, others, toolset, runChild)) messages.push(message);
    }
    for (const { id, name } of suggesting) {
      const text = suggested === undefined ? 'labels must be a list of texts.' : 'The suggestions are shown.';
      messages.push({ role: 'tool', callId: id, name, content: [{ type: 'text', text }] });
    }
  }
  const request = {
    messages,
    ...(tools.length > 0 && { tools, toolChoice: 'none' as const }),
    ...(format !== undefined && { responseFormat: format }),
  };
  return { source: callSources.toolLoop, request, blocks: suggested === undefined ? [] : [suggested] };
}
