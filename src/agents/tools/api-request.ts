import type { JsonObject } from '../../http/operations/index.js';
import type { ApiTool } from '../schemas/editor-schema.js';
import { partsOf, placeholdersIn } from '../schemas/placeholders.js';
import { textOf } from '../../infra/expressions/index.js';
import { fillJson, fillText, fillValue, type Sources } from './fill.js';
import { ToolError } from './tool-error.js';

/** The HTTP request of one call, ready to send. */
export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Builds the request without the credential. */
export function apiRequest(tool: ApiTool, sources: Sources): ApiRequest {
  const url = fillUrl(tool.url, sources);
  const query = Object.entries(tool.query ?? {}).map(
    ([name, template]) => [name, fillValue(template, sources)] as const,
  );
  const headers = fillHeaders(tool.headers ?? {}, sources);
  // If a tool does not place its arguments, all of them go into the query or the body, depending on the method.
  const spread = !usesArguments(tool) && tool.body === undefined;
  const inQuery = tool.method === 'GET' || tool.method === 'DELETE';
  addQuery(url, spread && inQuery ? [...query, ...Object.entries(sources.args)] : query);
  const template = spread && !inQuery && Object.keys(sources.args).length > 0 ? sources.args : undefined;
  const body = template ?? (tool.body === undefined ? undefined : filledBody(tool.body, sources));
  return { method: tool.method, url, ...withBody(headers, body) };
}

function usesArguments({ url, query, headers, body }: ApiTool): boolean {
  return placeholdersIn([url, query, headers, body]).some(({ kind }) => kind === 'args');
}

function filledBody(template: unknown, sources: Sources): unknown {
  return typeof template === 'string' ? fillText(template, sources) : fillJson(template, sources);
}

/**
 * Values are percent-encoded, so they cannot add a part to the URL, and a value that would leave its path is
 * refused.
 */
function fillUrl(template: string, sources: Sources): URL {
  const [beforeQuery = ''] = template.split(/[?#]/, 1);
  for (const segment of beforeQuery.split('/').slice(3)) {
    if (partsOf(segment).every((part) => typeof part === 'string')) continue;
    if (/^(?:\.|%2e){1,2}$/i.test(fillText(segment, sources, encodeURIComponent))) {
      throw new ToolError('refused', 'An argument would change the path of the URL.');
    }
  }
  return new URL(fillText(template, sources, encodeURIComponent));
}

/** Entries of the URL itself stay as written. Lists become repeated names. */
function addQuery(url: URL, entries: readonly (readonly [string, unknown])[]): void {
  const pairs = entries.flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((item) => item !== undefined && item !== null)
      .map((item) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(item))}`),
  );
  url.search = [url.search.slice(1), ...pairs].filter((part) => part !== '').join('&');
}

function fillHeaders(
  templates: Readonly<Record<string, string>>,
  sources: Sources,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(templates)) {
    headers[name.toLowerCase()] = fillText(template, sources);
  }
  return headers;
}

function withBody(
  headers: Readonly<Record<string, string>>,
  body: unknown,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string | undefined } {
  if (body === undefined) return { headers, body: undefined };
  const contentType = headers['content-type'];
  if (typeof body === 'string') {
    return { headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body };
  }
  if (contentType?.startsWith('application/x-www-form-urlencoded') === true) {
    return { headers, body: formOf(body as JsonObject) };
  }
  return { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

function formOf(body: JsonObject): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) form.append(name, textOf(value));
  return form.toString();
}
