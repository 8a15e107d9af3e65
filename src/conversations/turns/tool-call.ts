import type { AssistantPart, ToolCallPart } from '../../llm/index.js';
import { JsonSize } from '../../kernel/json-size.js';
import { storableValue } from '../../kernel/storable-text.js';
import type { Toolset, TurnTool } from './toolset.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** A parsed call of the model. */
export type ReadCall =
  | { readonly part: ToolCallPart; readonly tool: TurnTool; readonly args: Arguments }
  /** The call is invalid; the model is told why. */
  | { readonly part: ToolCallPart; readonly refusal: string };

export function callsIn(parts: readonly AssistantPart[]): readonly ToolCallPart[] {
  return parts.filter((part) => part.type === 'tool_call');
}

export function readCall(part: ToolCallPart, toolset: Toolset): ReadCall {
  const tool = toolset.tools.get(part.name);
  if (tool === undefined) {
    return { part, refusal: `There is no tool of the name ${part.name.slice(0, 100)}.` };
  }
  const args = argumentsOf(part);
  return args === undefined
    ? { part, refusal: 'The arguments are not a JSON object. Call the tool again with valid JSON.' }
    : { part, tool, args };
}

/**
 * Undefined if the text is not a JSON object, or is nested too deeply. An empty text counts as an empty object, because
 * models often write nothing. A call that people decide is stored as a value.
 */
export function argumentsOf({ arguments: text }: ToolCallPart): Arguments | undefined {
  if (text.trim() === '') return {};
  if (new JsonSize().addText(text) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (storableValue(value) as Arguments)
      : undefined;
  } catch {
    // A model may write anything; the caller reports it to the model.
    return undefined;
  }
}
