/**
 * A turn from its first step to its last: load, intent, rounds of model and tools, finish. Every end is returned as
 * a `TurnEnd`; thrown are only `TurnLost`, when another process owns the turn by now, and `TurnParked`, when it waits for
 * approvals.
 */
import { callSources } from '../../models/calls/index.js';
import type { Message } from '../../llm/index.js';
import { endingOf, turnEnd } from './ending.js';
import { intentOf } from './intent-check.js';
import { Interruption } from './interruption.js';
import { modelRound } from './model-round.js';
import type { TurnsParts } from './parts.js';
import { conversation } from './prompt.js';
import { quickRepliesOf, suggestionsName } from './quick-replies.js';
import { TurnOutput } from './turn-output.js';
import { StepLog, workedMs } from './step-log.js';
import { TurnTokens } from './turn-usage.js';
import type { RunChild } from './sub-agent.js';
import { argumentsOf, callsIn } from './tool-call.js';
import { toolRound } from './tool-round.js';
import { toolsetOf } from './toolset.js';
import type { QuickReplies, TurnEnd, TurnPorts, TurnStart } from './turn.js';
import type { TurnWork } from './turn-work.js';

/** `lineage` is empty except in the turn of a sub-agent. */
export async function runTurn(
  parts: TurnsParts,
  start: TurnStart,
  ports: TurnPorts,
  lineage = '',
): Promise<TurnEnd> {
  const work: TurnWork = {
    parts,
    start,
    ports,
    lineage,
    interruption: new Interruption(parts.time, ports.signal),
    steps: new StepLog(start.recorded, ports, parts.time),
    output: new TurnOutput((event) => ports.emit(event), parts.time),
    totals: new TurnTokens(),
  };
  try {
    work.interruption.check();
    const blocks = await answer(work);
    work.interruption.check();
    ports.emit({ type: 'phase', name: 'finish' });
    return turnEnd(work, { outcome: 'COMPLETED' }, blocks);
  } catch (error) {
    return turnEnd(work, endingOf(error, work), []);
  } finally {
    work.interruption.stop();
  }
}

async function answer(work: TurnWork): Promise<readonly QuickReplies[]> {
  const { start, ports, interruption } = work;
  const { snapshot } = start.agent;
  ports.emit({ type: 'status', state: 'running' });
  ports.emit({ type: 'phase', name: 'load' });
  const toolset = toolsetOf(snapshot, start.quickReplies && snapshot.quick_replies_enabled);
  ports.emit({ type: 'phase', name: 'intent' });
  interruption.startClock(start.deadlineMs - workedMs(start.recorded, start.waits));
  const intent = await intentOf(work);
  const messages = conversation(start);
  return intent === 'task' ? runRounds(work, toolset, messages) : answerWithoutTools(work, toolset, messages);
}

/** One answer without the agent's tools. It can still suggest replies. */
async function answerWithoutTools(
  work: TurnWork,
  { definitions }: ReturnType<typeof toolsetOf>,
  messages: readonly Message[],
): Promise<readonly QuickReplies[]> {
  const tools = work.start.quickReplies ? definitions.filter(({ name }) => name === suggestionsName) : [];
  const said = await modelRound(work, callSources.lightResponse, {
    messages,
    ...(tools.length > 0 && { tools }),
  });
  for (const call of callsIn(said.parts)) {
    const suggested =
      tools.length > 0 && call.name === suggestionsName ? quickRepliesOf(argumentsOf(call)) : undefined;
    if (suggested !== undefined) return [suggested];
  }
  return [];
}

/** Rounds of the model and its tools, until the model calls none or only suggests replies. */
async function runRounds(
  work: TurnWork,
  toolset: ReturnType<typeof toolsetOf>,
  conversationSoFar: readonly Message[],
): Promise<readonly QuickReplies[]> {
  const { parts, start } = work;
  const runChild: RunChild = (child, ports, lineage) => runTurn(parts, child, ports, lineage);
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
      ...(tools.length > 0 && { tools }),
      ...(tools.length > 0 && !mayCall && { toolChoice: 'none' }),
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
  return suggested === undefined ? [] : [suggested];
}
