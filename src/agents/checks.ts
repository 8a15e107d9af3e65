import type { Role } from '../kernel/caller.js';
import type { TenantScope } from '../kernel/tenant-scope.js';
import type { TenantTransaction } from '../infra/storage/index.js';
import type { Egress } from '../infra/egress/index.js';
import { PlatformError } from '../kernel/errors.js';
import type { Sandbox } from '../infra/sandbox/index.js';
import { approves, namedPlace, type Vault } from '../tenancy/vault/index.js';
import { AnswerFit } from '../models/response-format/index.js';
import type { AgentDocument } from './document.js';
import type { Issue } from './issues.js';
import { destinationsOf, forbiddenDestinations } from './schemas/destinations.js';
import type { SchemaDocument } from './schemas/document.js';
import { faultOfJsonSchema } from './schemas/json-schemas.js';
import type { SchemaRow, ServerTool } from './schemas/schemas.store.js';
import { faultOfSubAgents } from './sub-agents.js';
import type { McpServer } from './schemas/editor-schema.js';
import { authHeaders, type SecretReader } from './tools/credentials.js';
import { hideIn, secretHider } from '../infra/diagnostics/index.js';
import { listServerTools } from './tools/mcp-server.js';
import { shownText } from './tools/shown-text.js';

export interface NetworkFindings {
  readonly issues: readonly Issue[];
  /** The tools of each MCP server that answered, by schema id. */
  readonly tools: ReadonlyMap<string, ServerTool[]>;
}

const atOnceMax = 8;
const serverTimeoutMs = 10_000;

/** A schema of the working copy or of a version. */
interface CheckedSchema {
  readonly id: string;
  readonly document: SchemaDocument;
}

type CheckingVault = Pick<Vault, 'find' | 'keep' | 'resolve'>;

/** The checks of each schema before publication. */
export class Checks {
  readonly #vault: CheckingVault;
  readonly #egress: Egress;
  readonly #sandbox: Pick<Sandbox, 'run'>;

  constructor(vault: CheckingVault, egress: Egress, sandbox: Pick<Sandbox, 'run'>) {
    this.#vault = vault;
    this.#egress = egress;
    this.#sandbox = sandbox;
  }

  /**
   * Checks the JSON Schemas alone: the result is the same for the same revision. One schema at a time, so that an
   * agent with many schemas does not crowd out other work. Never called in a transaction, which would hold its
   * connection meanwhile.
   */
  async parameters(scope: TenantScope, schemas: readonly CheckedSchema[]): Promise<readonly Issue[]> {
    const issues: Issue[] = [];
    for (const schema of schemas) {
      const { document } = schema;
      if (document.type === 'mcp') continue;
      const fault = await faultOfJsonSchema(this.#sandbox, scope, document.parameters);
      if (fault === undefined) continue;
      issues.push(issueOf(schema, fault.at === '' ? 'parameters' : `parameters.${fault.at}`, fault.issue));
    }
    return issues;
  }

  /** Checks the schema that the agent's answers must fit. */
  async answers(scope: TenantScope, { llm_config: config }: AgentDocument): Promise<readonly Issue[]> {
    if (config.response_format === undefined) return [];
    const fault = await new AnswerFit(this.#sandbox).faultOf(
      scope,
      config.response_format.json_schema.schema,
    );
    if (fault === undefined) return [];
    const field = 'llm_config.response_format.json_schema.schema';
    return [{ schemaId: null, schema: null, field, issue: `is not a valid JSON Schema: ${fault}` }];
  }

  /**
   * Checks what the database can tell. In the publishing transaction, the named secrets cannot be deleted before it
   * ends.
   */
  async local(
    scope: TenantScope,
    tx: TenantTransaction,
    agentId: string,
    schemas: readonly SchemaRow[],
  ): Promise<readonly Issue[]> {
    const issues: Issue[] = [];
    for (const row of schemas) {
      const { document } = row;
      for (const { secret, field } of destinationsOf(document)) {
        if ((await this.#vault.keep(tx, secret)) !== undefined) continue;
        const name = typeof secret === 'string' ? secret : secret.vault_secret_id;
        issues.push(issueOf(row, field, `the secret ${name} does not exist`));
      }
    }
    for (const { row, issue } of await faultOfSubAgents(scope, tx, agentId, schemas)) {
      issues.push(issueOf(row, 'editor_schema.agent.agent_id', issue));
    }
    return issues;
  }

  /** Checks what only the network can tell. A secret is sent only where `role` may send it. */
  async network(
    scope: TenantScope,
    role: Role,
    schemas: readonly SchemaRow[],
    signal: AbortSignal,
  ): Promise<NetworkFindings> {
    const issues: Issue[] = [];
    const tools = new Map<string, ServerTool[]>();
    const waiting = [...schemas];
    const work = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
        const found = await this.#networkFault(scope, role, row, signal);
        if (Array.isArray(found)) tools.set(row.id, found);
        else if (found !== undefined) issues.push(issueOf(row, found.field, found.issue));
      }
    };
    await Promise.all(Array.from({ length: atOnceMax }, work));
    // Sorted by the order of the schemas, because servers answer in any order.
    const position = new Map(schemas.map((row, index) => [row.id, index]));
    issues.sort((a, b) => (position.get(a.schemaId ?? '') ?? 0) - (position.get(b.schemaId ?? '') ?? 0));
    return { issues, tools };
  }

  async #networkFault(
    scope: TenantScope,
    role: Role,
    { document, approved }: SchemaRow,
    signal: AbortSignal,
  ): Promise<ServerTool[] | { readonly field: string; readonly issue: string } | undefined> {
    if (document.type === 'agent') return undefined;
    const at = `editor_schema.${document.type}`;
    const { url } = document.type === 'api' ? document.editor_schema.api : document.editor_schema.mcp;
    const refusal = await this.#refusalOf(url, `${at}.url`);
    if (refusal !== undefined) return refusal;
    if (document.type === 'api') return undefined;
    if (!approves(role)) {
      const find = (secret: Parameters<Vault['find']>[1]) => this.#vault.find(scope, secret);
      const [forbidden] = await forbiddenDestinations(document, approved, find);
      if (forbidden !== undefined) {
        return { field: forbidden.field, issue: `this secret may not be sent to ${namedPlace(forbidden)}` };
      }
    }
    const server = document.editor_schema.mcp;
    const found = await this.#listTools(scope, document.editor_schema.mcp, signal);
    if (typeof found === 'string') return { field: `${at}.url`, issue: found };
    const names = new Set(found.map(({ name }) => name));
    const missing = server.allowed_tools?.find((name) => !names.has(name));
    if (missing === undefined) return found;
    return { field: `${at}.allowed_tools`, issue: `the server has no tool ${missing}` };
  }

  async #refusalOf(
    url: string,
    field: string,
  ): Promise<{ readonly field: string; readonly issue: string } | undefined> {
    try {
      await this.#egress.checkResolved(url, field);
      return undefined;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'validation_error') throw error;
      return { field, issue: String(error.details?.['issue']) };
    }
  }

  async #listTools(
    scope: TenantScope,
    server: McpServer,
    signal: AbortSignal,
  ): Promise<ServerTool[] | string> {
    const values: string[] = [];
    const read: SecretReader = async (secret) => {
      const { value } = await this.#vault.resolve(scope, secret);
      values.push(value.reveal());
      return value;
    };
    try {
      const headers = await authHeaders(server.auth, read);
      const timeoutMs = Math.min(serverTimeoutMs, server.call_timeout_ms);
      const { tenantId } = scope;
      const access = { tenantId, server, headers, egress: this.#egress, timeoutMs, signal };
      const tools = await listServerTools(access);
      const hide = secretHider(values);
      return hideIn(tools, (text) => shownText(text, hide, text.length).text) as ServerTool[];
    } catch (error) {
      // A server may quote the secret that it was sent, so secrets are removed from the reason.
      const { text: reason } = shownText(reasonOf(error), secretHider(values), 300);
      return `the server did not list its tools: ${reason}`;
    }
  }
}

function issueOf(row: CheckedSchema, field: string, issue: string): Issue {
  return { schemaId: row.id, schema: row.document.name, field, issue };
}

/**
 * Client packages wrap the cause. A `PlatformError` is worded for tenants; otherwise the innermost error says most.
 */
export function reasonOf(error: unknown): string {
  let inner = error;
  while (!(inner instanceof PlatformError) && inner instanceof Error && inner.cause instanceof Error) {
    inner = inner.cause;
  }
  return inner instanceof Error ? inner.message : 'unknown failure';
}
