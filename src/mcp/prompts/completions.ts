import { allows } from '../../http/operations/index.js';
import type { ClientRequest } from '../client-request.js';
import type { ToolRunner } from '../tools/tool-runner.js';
import type { CompiledTool, ToolCatalogue } from '../tools/catalogue.js';

/** The maximum of the protocol. */
const valuesMax = 100;

/** The list operation whose rows hold the values of an argument, and the field with the value. */
const sources: Readonly<
  Record<string, { readonly tool: string; readonly field: string; readonly name?: string }>
> = {
  agent_id: { tool: 'list_agents', field: 'id', name: 'name' },
  trigger_id: { tool: 'list_triggers', field: 'id', name: 'name' },
  session_id: { tool: 'list_sessions', field: 'id' },
  execution_id: { tool: 'list_executions', field: 'id' },
  model: { tool: 'list_models', field: 'id' },
};

/** Completes arguments: ids of agents, triggers, sessions and executions, and models, as far as the role may list them. */
export class Completions {
  readonly #catalogue: ToolCatalogue;
  readonly #runner: ToolRunner;

  constructor(catalogue: ToolCatalogue, runner: ToolRunner) {
    this.#catalogue = catalogue;
    this.#runner = runner;
  }

  /** The values that begin with the text, or whose name contains it. */
  async complete(
    request: ClientRequest,
    argument: string,
    text: string,
  ): Promise<{ values: string[]; total: number; hasMore: boolean }> {
    const source = sources[argument === 'id' ? 'agent_id' : argument];
    const tool = source === undefined ? undefined : this.#catalogue.named(source.tool);
    if (source === undefined || tool === undefined || !this.#mayList(tool, request)) return nothing();
    const wanted = text.toLowerCase();
    const values = (await this.#rows(tool, request)).flatMap((row) => {
      const value = textIn(row[source.field]);
      const name = source.name === undefined ? '' : textIn(row[source.name]);
      return value.toLowerCase().startsWith(wanted) || name.toLowerCase().includes(wanted) ? [value] : [];
    });
    return { values: values.slice(0, valuesMax), total: values.length, hasMore: values.length > valuesMax };
  }

  #mayList({ permission }: CompiledTool, { caller }: ClientRequest): boolean {
    return permission === null || allows(caller.role, permission);
  }

  async #rows(
    tool: CompiledTool,
    { caller, requestId }: ClientRequest,
  ): Promise<readonly Record<string, unknown>[]> {
    const properties = tool.plan.schema['properties'] as Readonly<Record<string, unknown>>;
    const args = 'limit' in properties ? { limit: valuesMax } : {};
    const answer = await this.#runner.run(tool, args, { caller, requestId, signal: never });
    return Array.isArray(answer['data']) ? (answer['data'] as Record<string, unknown>[]) : [];
  }
}

const never = new AbortController().signal;

function nothing(): { values: string[]; total: number; hasMore: boolean } {
  return { values: [], total: 0, hasMore: false };
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
