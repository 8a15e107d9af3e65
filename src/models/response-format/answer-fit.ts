import { JsonSize } from '../../kernel/json-size.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { type Sandbox, SandboxError, type SandboxTask } from '../../infra/sandbox/index.js';
import type { Message } from '../../llm/index.js';
import type { Fit, FitInput } from './fit.task.js';
import type { SchemaFormat } from './response-format.js';

const task: SandboxTask<FitInput, Fit> = {
  module: new URL('./fit.task.js', import.meta.url),
  // The largest schema that is not made to be slow compiles in a fifth of it.
  timeoutMs: 2_000,
};

export type Fitting =
  | { readonly parsed: unknown; readonly mismatch?: undefined }
  | { readonly mismatch: string };

/** Compares answers with the schema that their caller gave. */
export class AnswerFit {
  readonly #sandbox: Pick<Sandbox, 'run'>;

  constructor(sandbox: Pick<Sandbox, 'run'>) {
    this.#sandbox = sandbox;
  }

  /** What is wrong with the schema, before anything is asked by it. */
  async faultOf({ tenantId }: TenantScope, schema: SchemaFormat['schema']): Promise<string | undefined> {
    const fit = await this.#run(tenantId, schema, '');
    return typeof fit === 'string' ? fit : fit.schemaFault;
  }

  /** Throws the refusal of a schema that cannot be used; `field` is its place in the request. */
  async examine(scope: TenantScope, schema: SchemaFormat['schema'], field: string): Promise<void> {
    const fault = await this.faultOf(scope, schema);
    if (fault === undefined) return;
    const issue = `is not a valid JSON Schema: ${fault}`;
    throw new PlatformError('validation_error', {
      message: `${field} ${issue}.`,
      details: { field, issue },
    });
  }

  async of({ tenantId }: TenantScope, { schema }: SchemaFormat, text: string): Promise<Fitting> {
    const json = jsonIn(text);
    if (json === undefined) return { mismatch: 'the answer is not JSON' };
    const fit = await this.#run(tenantId, schema, json.text);
    if (typeof fit === 'string') return { mismatch: fit };
    const mismatch = fit.schemaFault ?? fit.mismatch;
    return mismatch === undefined ? { parsed: json.value } : { mismatch };
  }

  async #run(tenantId: string, schema: SchemaFormat['schema'], answer: string): Promise<Fit | string> {
    try {
      return await this.#sandbox.run(tenantId, task, () => ({ schema: JSON.stringify(schema), answer }));
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      return `it cannot be checked: ${error.message}`;
    }
  }
}

/** The conversation that asks for the answer once more. */
export function askedAgain(
  messages: readonly Message[],
  answer: string,
  mismatch: string,
): readonly Message[] {
  const text = `Your answer does not fit the JSON Schema that it must fit: ${mismatch}. Answer again, with one JSON value that fits and nothing else.`;
  return [
    ...messages,
    ...(answer === ''
      ? []
      : [{ role: 'assistant' as const, content: [{ type: 'text' as const, text: answer }] }]),
    { role: 'user', content: [{ type: 'text', text }] },
  ];
}

export function responseFormatMismatch(mismatch: string): PlatformError {
  return new PlatformError('response_format_mismatch', {
    message: `The answer does not fit the response_format, also after a second try: ${mismatch}.`,
    details: { issue: mismatch },
  });
}

/** The value of an answer that was found to fit. */
export function parsedAnswer(text: string): unknown {
  return jsonIn(text)?.value;
}

/** Models without a mode for schemas often wrap their JSON in a fence. */
function jsonIn(text: string): { readonly text: string; readonly value: unknown } | undefined {
  const json = withoutFence(text.trim());
  if (new JsonSize(Number.POSITIVE_INFINITY).addText(json) !== undefined) return undefined;
  try {
    return { text: json, value: JSON.parse(json) as unknown };
  } catch {
    // Not JSON, as one that is nested too deeply: the answer does not fit.
    return undefined;
  }
}

const fence = '```';

/** By position, since a pattern that skips blanks at both ends takes cubic time for an answer of blank lines. */
function withoutFence(text: string): string {
  const lineEnd = text.indexOf('\n');
  if (lineEnd === -1 || lineEnd + fence.length >= text.length || !text.endsWith(fence)) return text;
  const opening = text.slice(0, lineEnd).trimEnd();
  const isFence = opening === fence || opening === `${fence}json`;
  return isFence ? text.slice(lineEnd + 1, -fence.length).trim() : text;
}
