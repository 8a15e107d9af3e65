/**
 * `sim.tools`: what a model with tools would do, by rules that can be told beforehand, so that agents and structured
 * output can be tried without a vendor. It calls the tools whose names the user mentions, answers with their results,
 * and fills the schema that an answer is to have.
 */
import type { LlmRequest, Message, ReplyItem, StopReason, ToolDefinition } from '../contract.js';
import { fillSchema } from './fill-schema.js';
import { lastUserText } from './user-text.js';
import { wordPieces } from './words.js';

/** Made piece by piece: an answer may be as long as the largest prompt. */
export type SimAnswer = Generator<ReplyItem, SimEnd, undefined>;

export interface SimEnd {
  readonly stop: StopReason;
  /** The text of the caller's that ended the answer. */
  readonly sequence?: string;
}

export function toolsAnswer(request: LlmRequest): SimAnswer {
  const calls = calledTools(request);
  return calls.length > 0 ? callsOf(calls, request) : textOf(answerText(request), request);
}

/** Tools that a longer text mentions behind this are not called: splitting it would hold the process. */
const mentionTextMax = 100_000;

function calledTools({ tools = [], toolChoice = 'auto', messages, parallelToolCalls }: LlmRequest) {
  if (tools.length === 0 || toolChoice === 'none') return [];
  if (typeof toolChoice === 'object') return tools.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  const text = lastUserText(messages).slice(0, mentionTextMax).toLowerCase();
  const said = new Set(text.split(/[^\p{L}\p{N}_-]+/u));
  const mentioned = tools.filter(({ name }) => isMentioned(name, said));
  const chosen = parallelToolCalls === false ? mentioned.slice(0, 1) : mentioned;
  if (toolChoice === 'required') return chosen.length > 0 ? chosen : tools.slice(0, 1);
  // Results of tools have come: the next answer is a text, or an agent would go round forever.
  return messages.at(-1)?.role === 'tool' ? [] : chosen;
}

/** The whole name, or each of its words: `get_weather` for "get the weather". */
function isMentioned(name: string, said: ReadonlySet<string>): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return said.has(name.toLowerCase()) || (words.length > 0 && words.every((word) => said.has(word)));
}

function answerText({ messages, responseFormat }: LlmRequest): string {
  const text = lastUserText(messages);
  if (responseFormat?.type === 'json_schema') return JSON.stringify(fillSchema(responseFormat.schema, text));
  if (responseFormat?.type === 'json') return JSON.stringify({ answer: text });
  const results = trailingResults(messages);
  return results.length > 0 ? results.join('\n') : `echo: ${text}`;
}

function trailingResults(messages: readonly Message[]): readonly string[] {
  const results: string[] = [];
  for (const message of messages.toReversed()) {
    if (message.role !== 'tool') break;
    const text = message.content.map((part) => (part.type === 'text' ? part.text : '[image]')).join(' ');
    results.unshift(`${message.name} ${message.isError === true ? 'failed' : 'answered'}: ${text}`);
  }
  return results;
}

/** A piece is a token: the bound counts words, as the usage does. */
function* textOf(whole: string, { stop = [], maxTokens = Infinity }: LlmRequest): SimAnswer {
  const first = firstOf(whole, stop);
  let words = 0;
  for (const text of wordPieces(whole.slice(0, first?.at))) {
    if (words >= maxTokens) return { stop: 'length' };
    yield { type: 'content', text };
    words += 1;
  }
  return first === undefined ? { stop: 'stop' } : { stop: 'stop_sequence', sequence: first.sequence };
}

/** JSON without blanks is one word, which would stream nothing: a piece ends after each comma. */
function argumentPieces(json: string): readonly string[] {
  return json.match(/[^,]*,|[^,]+$/g) ?? [];
}

/** The stop sequence that comes first, and where it begins. */
function firstOf(
  whole: string,
  stop: readonly string[],
): { readonly at: number; readonly sequence: string } | undefined {
  let first: { readonly at: number; readonly sequence: string } | undefined;
  for (const sequence of stop) {
    const at = sequence === '' ? -1 : whole.indexOf(sequence);
    if (at !== -1 && at < (first?.at ?? whole.length)) first = { at, sequence };
  }
  return first;
}

/** Arguments that the bound cuts off stay cut off, as with a vendor. */
function* callsOf(
  tools: readonly ToolDefinition[],
  { messages, maxTokens = Infinity }: LlmRequest,
): SimAnswer {
  const text = lastUserText(messages);
  let tokens = 0;
  for (const [index, { name, parameters }] of tools.entries()) {
    yield { type: 'tool_call_start', index, id: `call_${messages.length}_${index + 1}`, name };
    for (const piece of argumentPieces(JSON.stringify(fillSchema(parameters, text)))) {
      if (tokens >= maxTokens) return { stop: 'length' };
      yield { type: 'tool_call_arguments', index, text: piece };
      tokens += 1;
    }
    yield { type: 'tool_call_end', index };
  }
  return { stop: 'tool_calls' };
}
