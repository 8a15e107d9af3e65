/** The graph of triggers, agents, models and tools. Both ends of every connection are nodes. */
import type { TenantTransaction } from '../../infra/storage/index.js';
import {
  readNames,
  readSubAgents,
  readTools,
  readTurns,
  type ToolCount,
  type TurnCount,
} from './graph.store.js';
import type { Edge } from './paths.store.js';
import type { Range } from './range.js';
import { readShares } from './totals.store.js';
import type { Share } from './totals.js';

export interface GraphNode {
  readonly id: string;
  readonly type: 'trigger' | 'agent' | 'model' | 'tool';
  readonly label: string;
  readonly executions: number;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly Edge[];
  readonly turns: number;
}

export async function readGraph(
  tx: TenantTransaction,
  range: Range,
  agentId: string | undefined,
): Promise<Graph> {
  const turns = await readTurns(tx, range, agentId);
  const tools = await readTools(tx, range, agentId);
  const subAgents = await readSubAgents(tx, range, agentId);
  const shares = await readShares(tx, range, { agentId });
  const counts = new Counts();
  addTurns(counts, turns);
  addTools(counts, tools);
  addSubAgents(counts, subAgents);
  addModels(counts, shares);
  const named = [...counts.nodes.values()].filter(({ type }) => type === 'agent' || type === 'trigger');
  const names = await readNames(
    tx,
    named.map(({ id }) => id),
  );
  const nodes = [...counts.nodes.values()].map((node) => ({
    ...node,
    label: names.get(node.id) ?? node.label,
  }));
  return {
    nodes: nodes.toSorted((a, b) => b.executions - a.executions || byText(a.id, b.id)),
    edges: [...counts.edges.values()].toSorted(
      (a, b) => b.count - a.count || byText(a.source, b.source) || byText(a.target, b.target),
    ),
    turns: turns.reduce((sum, { count }) => sum + count, 0),
  };
}

class Counts {
  readonly nodes = new Map<string, GraphNode>();
  readonly edges = new Map<string, Edge>();

  node(type: GraphNode['type'], id: string, label: string, executions: number): void {
    const before = this.nodes.get(id)?.executions ?? 0;
    this.nodes.set(id, { id, type, label, executions: before + executions });
  }

  edge(source: string, target: string, count: number): void {
    const key = JSON.stringify([source, target]);
    this.edges.set(key, { source, target, count: count + (this.edges.get(key)?.count ?? 0) });
  }
}

function addTurns(counts: Counts, turns: readonly TurnCount[]): void {
  for (const { agent_id: agent, trigger_id: trigger, count } of turns) {
    counts.node('agent', agent, agent, count);
    if (trigger === null) continue;
    counts.node('trigger', trigger, trigger, count);
    counts.edge(trigger, agent, count);
  }
}

/** The turn of a tool call may have begun before the range: its agent is a node all the same, without a turn. */
function addTools(counts: Counts, tools: readonly ToolCount[]): void {
  for (const { agent_id: agent, name, count } of tools) {
    counts.node('agent', agent, agent, 0);
    counts.node('tool', `tool:${name}`, name, count);
    counts.edge(agent, `tool:${name}`, count);
  }
}

/** With a filter by the sub-agent, the tool that asks it is a node without calls of its own. */
function addSubAgents(counts: Counts, asked: readonly ToolCount[]): void {
  for (const { agent_id: agent, name, count } of asked) {
    counts.node('tool', `tool:${name}`, name, 0);
    counts.node('agent', agent, agent, 0);
    counts.edge(`tool:${name}`, agent, count);
  }
}

/** A sub-agent asks models and has no turns of its own. */
function addModels(counts: Counts, shares: readonly Share[]): void {
  for (const { agent_id: agent, model, calls } of shares) {
    if (agent === null) continue;
    counts.node('agent', agent, agent, 0);
    counts.node('model', model, model, calls);
    counts.edge(agent, model, calls);
  }
}

function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
