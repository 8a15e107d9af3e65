import { allows, type Operation, type OperationTable, type Permission } from '../../http/operations/index.js';
import { type Role, roles } from '../../kernel/caller.js';
import { chatTool } from '../chat/chat-tool.js';
import { agentTools, versionTools } from './declarations/agents.js';
import { apiTools, mcpServerTools, schemaTools } from './declarations/agent-schemas.js';
import { consumerTools, executionTools, sessionTools } from './declarations/conversations.js';
import { databaseTools } from './declarations/databases.js';
import { llmTools, telemetryTools } from './declarations/models.js';
import { billingTools, memberTools, secretTools } from './declarations/tenancy.js';
import { triggerTools } from './declarations/triggers.js';
import { type InputPlan, inputPlanOf, jsonSchemaOf } from './input-plan.js';
import type { JsonSchema, Tool } from './tool.js';

/** Groups of tools, in the order of the list. A client narrows its list by their names. */
export const toolsets: Readonly<Record<string, readonly Tool[]>> = {
  agents: [...agentTools.slice(0, 2), chatTool, ...agentTools.slice(2)],
  agent_versions: versionTools,
  agent_schemas: schemaTools,
  api_tools: apiTools,
  mcp_servers: mcpServerTools,
  triggers: triggerTools,
  databases: databaseTools,
  sessions: sessionTools,
  consumers: consumerTools,
  executions: executionTools,
  llm: llmTools,
  telemetry: telemetryTools,
  secrets: secretTools,
  members: memberTools,
  billing: billingTools,
};

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: Readonly<Record<string, boolean | string>>;
}

/** A tool with its operation, ready to be called. */
export interface CompiledTool {
  readonly tool: Tool;
  readonly toolset: string;
  readonly operation: Operation;
  readonly permission: Permission | null;
  readonly plan: InputPlan;
  readonly listed: ListedTool;
}

/** All tools, compiled once: schemas are made from the shapes of the operations and shared by all requests. */
export class ToolCatalogue {
  readonly all: readonly CompiledTool[];
  readonly #byName: ReadonlyMap<string, CompiledTool>;
  readonly #byRole: ReadonlyMap<Role, readonly CompiledTool[]>;
  readonly #texts = new Map<Role, string>();

  constructor(table: OperationTable) {
    this.all = Object.entries(toolsets).flatMap(([toolset, tools]) =>
      tools.map((tool) => compiled(tool, toolset, table)),
    );
    this.#byName = new Map(this.all.map((one) => [one.tool.name, one]));
    this.#byRole = new Map(roles.map((role) => [role, this.all.filter((one) => isFor(one, role))]));
  }

  named(name: string): CompiledTool | undefined {
    return this.#byName.get(name);
  }

  of(role: Role): readonly CompiledTool[] {
    return this.#byRole.get(role) ?? [];
  }

  /** The list of a role as JSON: some 200 KB for an owner, made once, as it changes only with a deployment. */
  textOf(role: Role): string {
    let text = this.#texts.get(role);
    if (text === undefined) {
      text = JSON.stringify(this.of(role).map(({ listed }) => listed));
      this.#texts.set(role, text);
    }
    return text;
  }
}

/** Whether a role may use a tool: by the tool's permission, and not if its class is for owners and admins only. */
export function isFor({ tool, permission }: Pick<CompiledTool, 'tool' | 'permission'>, role: Role): boolean {
  const isAdmin = role === 'owner' || role === 'admin';
  return (isAdmin || tool.adminClass === undefined) && (permission === null || allows(role, permission));
}

function compiled(tool: Tool, toolset: string, table: OperationTable): CompiledTool {
  const operation = table.named(tool.operation);
  const plan = inputPlanOf(tool, operation);
  return {
    tool,
    toolset,
    operation,
    permission: tool.permission ?? operation.access.permission,
    plan,
    listed: {
      name: tool.name,
      title: tool.title,
      description: tool.description,
      inputSchema: plan.schema,
      outputSchema: tool.output ?? outputOf(operation),
      annotations: {
        title: tool.title,
        readOnlyHint: tool.hints.includes('R'),
        destructiveHint: tool.hints.includes('D'),
        idempotentHint: tool.hints.includes('I'),
        openWorldHint: tool.hints.includes('O'),
      },
    },
  };
}

/** The protocol requires an object at the top. */
function outputOf({ output }: Operation): JsonSchema {
  const schema = jsonSchemaOf(output, 'output');
  return schema['type'] === 'object' ? schema : { type: 'object' };
}
