import type { AssistantPart, ToolCallPart } from '../../llm/index.js';
import type { Toolset, TurnTool } from './toolset.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** A call as the model made it, read. */
export type ReadCall =
  | { readonly part: ToolCallPart; readonly tool: TurnTool; readonly args: Arguments }
  /** Nothing can be called; the model is told why. */
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

/** Undefined where the text is no JSON object. A model that has nothing to say often writes nothing. */
export function argumentsOf({ arguments: text }: ToolCallPart): Arguments | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Arguments)
      : undefined;
  } catch {
    // Anything may come from a model; the caller tells it so.
    return undefined;
  }
}
