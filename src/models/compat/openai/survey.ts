import { isJson, Survey } from '../survey.js';

const parts = new Set<unknown>(['text', 'image_url', 'file', 'refusal']);

const messageKeys = new Set(['role', 'content', 'refusal', 'tool_calls', 'tool_call_id']);
const partKeys = new Set(['type', 'text', 'refusal', 'image_url', 'file']);
const imageKeys = new Set(['url']);
const callKeys = new Set(['id', 'type', 'function']);
const toolKeys = new Set(['type', 'function']);
const functionKeys = new Set(['name', 'description', 'parameters']);
const formatKeys = new Set(['type', 'json_schema']);
const schemaKeys = new Set(['name', 'schema']);
const choiceTypes = new Set<unknown>(['function']);

/** What the platform's own form can hold of a request, for the translation, and the list of all that it asks for. */
export function surveyChat(body: unknown): { readonly known: unknown; readonly survey: Survey } {
  const survey = new Survey();
  if (!isJson(body)) return { known: body, survey };
  for (const [key, value] of Object.entries(body)) survey.add(key, key, value);
  const known: Record<string, unknown> = { ...body };
  if (Array.isArray(body['messages'])) {
    known['messages'] = body['messages'].map((each, index) => message(each, `messages.${index}`, survey));
  }
  if (Array.isArray(body['tools']))
    known['tools'] = body['tools'].flatMap((each, at) => tool(each, at, survey));
  const choice = body['tool_choice'];
  if (isJson(choice) && !choiceTypes.has(choice['type'])) {
    survey.opaque('tool_choice.type', 'tool_choice.type', choice);
    delete known['tool_choice'];
  }
  const format = body['response_format'];
  if (isJson(format)) {
    survey.beside(formatKeys, format, 'response_format', 'response_format');
    const schema = format['json_schema'];
    const place = 'response_format.json_schema';
    if (isJson(schema)) survey.beside(schemaKeys, schema, place, place);
  }
  return { known, survey };
}

function message(each: unknown, path: string, survey: Survey): unknown {
  if (!isJson(each)) return each;
  // The role of results before there were tools.
  if (each['role'] === 'function') {
    survey.opaque('messages.role', `${path}.role`, each);
    return { role: 'user', content: '' };
  }
  survey.beside(messageKeys, each, 'messages', path);
  const calls = each['tool_calls'];
  return {
    ...each,
    ...(Array.isArray(each['content']) && {
      content: each['content'].map((one, at) => part(one, `${path}.content.${at}`, survey)),
    }),
    ...(Array.isArray(calls) && {
      tool_calls: calls.flatMap((one, at) => toolCall(one, `${path}.tool_calls.${at}`, survey)),
    }),
  };
}

function part(each: unknown, path: string, survey: Survey): unknown {
  if (!isJson(each)) return each;
  if (typeof each['type'] === 'string' && !parts.has(each['type'])) {
    survey.opaque('messages.content.type', `${path}.type`, each);
    return { type: 'text', text: '' };
  }
  survey.beside(partKeys, each, 'messages.content', path);
  const image = each['image_url'];
  if (isJson(image)) survey.beside(imageKeys, image, 'messages.content.image_url', `${path}.image_url`);
  return each;
}

function toolCall(each: unknown, path: string, survey: Survey): unknown[] {
  if (!isJson(each)) return [each];
  if (typeof each['type'] === 'string' && each['type'] !== 'function') {
    survey.opaque('messages.tool_calls.type', `${path}.type`, each);
    // Its result names the call.
    return [{ id: each['id'], type: 'function', function: { name: 'custom', arguments: '{}' } }];
  }
  survey.beside(callKeys, each, 'messages.tool_calls', path);
  return [each];
}

function tool(each: unknown, at: number, survey: Survey): unknown[] {
  if (!isJson(each)) return [each];
  const path = `tools.${at}`;
  if (typeof each['type'] === 'string' && each['type'] !== 'function') {
    survey.opaque('tools.type', `${path}.type`, each);
    return [];
  }
  survey.beside(toolKeys, each, 'tools', path);
  const declared = each['function'];
  if (isJson(declared)) survey.beside(functionKeys, declared, 'tools.function', `${path}.function`);
  return [each];
}
