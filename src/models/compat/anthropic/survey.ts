import { isJson, Survey } from '../survey.js';

const parts = new Set<unknown>([
  'text',
  'image',
  'document',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
]);
const resultParts = new Set<unknown>(['text', 'image']);

const messageKeys = new Set(['role', 'content']);
const partKeys = new Set([
  'type',
  'text',
  'source',
  'thinking',
  'signature',
  'data',
  'id',
  'name',
  'input',
  'tool_use_id',
  'content',
  'is_error',
  'title',
  'context',
]);
const toolKeys = new Set(['type', 'name', 'description', 'input_schema']);
const choiceKeys = new Set(['type', 'name']);
const choiceTypes = new Set<unknown>(['auto', 'any', 'none', 'tool']);
const thinkingKeys = new Set(['type', 'budget_tokens']);
const outputKeys = new Set(['effort', 'format']);

/** What the platform's own form can hold of a request, for the translation, and the list of all that it asks for. */
export function surveyMessages(body: unknown): { readonly known: unknown; readonly survey: Survey } {
  const survey = new Survey();
  if (!isJson(body)) return { known: body, survey };
  for (const [key, value] of Object.entries(body)) survey.add(key, key, value);
  const known: Record<string, unknown> = { ...body };
  if (Array.isArray(body['messages'])) {
    known['messages'] = body['messages'].map((each, index) => message(each, `messages.${index}`, survey));
  }
  if (Array.isArray(body['system'])) {
    for (const [at, each] of body['system'].entries()) {
      if (isJson(each)) survey.beside(partKeys, each, 'system', `system.${at}`);
    }
  }
  if (Array.isArray(body['tools']))
    known['tools'] = body['tools'].flatMap((each, at) => tool(each, at, survey));
  const choice = body['tool_choice'];
  if (isJson(choice)) {
    if (choiceTypes.has(choice['type'])) survey.beside(choiceKeys, choice, 'tool_choice', 'tool_choice');
    else {
      survey.opaque('tool_choice.type', 'tool_choice.type', choice);
      delete known['tool_choice'];
    }
  }
  const { thinking, output_config: output } = body;
  if (isJson(thinking)) survey.beside(thinkingKeys, thinking, 'thinking', 'thinking');
  if (isJson(output)) survey.beside(outputKeys, output, 'output_config', 'output_config');
  return { known, survey };
}

function message(each: unknown, path: string, survey: Survey): unknown {
  if (!isJson(each)) return each;
  survey.beside(messageKeys, each, 'messages', path);
  if (!Array.isArray(each['content'])) return each;
  return { ...each, content: each['content'].map((one, at) => part(one, `${path}.content.${at}`, survey)) };
}

function part(each: unknown, path: string, survey: Survey): unknown {
  if (!isJson(each)) return each;
  if (typeof each['type'] === 'string' && !parts.has(each['type'])) {
    survey.opaque('messages.content.type', `${path}.type`, each);
    return { type: 'text', text: '' };
  }
  survey.beside(partKeys, each, 'messages.content', path);
  const inner = each['content'];
  if (each['type'] !== 'tool_result' || !Array.isArray(inner)) return each;
  return { ...each, content: inner.map((one, at) => resultPart(one, `${path}.content.${at}`, survey)) };
}

function resultPart(each: unknown, path: string, survey: Survey): unknown {
  if (!isJson(each)) return each;
  if (typeof each['type'] === 'string' && !resultParts.has(each['type'])) {
    survey.opaque('messages.content.content.type', `${path}.type`, each);
    return { type: 'text', text: '' };
  }
  survey.beside(partKeys, each, 'messages.content.content', path);
  return each;
}

function tool(each: unknown, at: number, survey: Survey): unknown[] {
  if (!isJson(each)) return [each];
  const path = `tools.${at}`;
  if (typeof each['type'] === 'string' && each['type'] !== 'custom') {
    survey.opaque('tools.type', `${path}.type`, each);
    return [];
  }
  survey.beside(toolKeys, each, 'tools', path);
  return [each];
}
