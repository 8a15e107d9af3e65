// Turns whose calls wait for decisions of people.
import type { ExecutionContext } from 'ava';
import { httpTool } from '../builders/published-agents.js';
import type { TurnReading } from '../clients/turn-reader.js';
import { eventually } from '../clocks/eventually.js';
import { type Conversations, startConversations } from './conversations.js';
import type { TenantNode } from './node.js';
import { answerJson, startToolServer, type ToolServer } from './tool-servers.js';

export const payingModel = 'openai.gpt-4.1-mini';

const parameters = {
  type: 'object',
  properties: { amount: { type: 'number', maximum: 100 }, to: { type: 'string' } },
  required: ['amount'],
};

export function payTool(url: string): object {
  const { editor_schema, ...tool } = httpTool('pay', `${url}/pay`) as { editor_schema: { api: object } };
  const api = { ...editor_schema.api, method: 'POST' };
  return { ...tool, parameters, editor_schema: { api, approval: 'always' } };
}

export interface ApprovalBench {
  readonly node: TenantNode;
  readonly talk: Conversations;
  readonly http: ToolServer;
  readonly agentId: string;
}

export async function startApprovals(t: ExecutionContext, node: TenantNode): Promise<ApprovalBench> {
  const talk = await startConversations(node, payingModel);
  const http = await startToolServer(t, (_, response) => answerJson(response, { paid: true }));
  return { node, talk, http, agentId: await talk.agent(payingModel, {}, [payTool(http.url)]) };
}

export interface Waiting {
  readonly approvalId: string;
  readonly executionId: string;
  readonly sessionId: string;
  readonly turn: Promise<TurnReading>;
}

/** A turn that waits for a decision. */
export async function startWaiting(
  { talk }: ApprovalBench,
  agentId: string,
  message: object | string = 'pay it',
): Promise<Waiting> {
  let found: Omit<Waiting, 'turn'> | undefined;
  let ids = { executionId: '', sessionId: '' };
  const turn = talk.say(message, {
    agentId,
    onEvent: ({ type, data }) => {
      if (type === 'metadata')
        ids = { executionId: String(data['execution_id']), sessionId: String(data['session_id']) };
      if (type === 'approval') found = { approvalId: String(data['approval_id']), ...ids };
    },
  });
  turn.catch(() => undefined);
  const waiting = await eventually(() => found);
  return { ...waiting, turn };
}

export function decide({ talk }: ApprovalBench, id: string, body: object) {
  return talk.post(`/api/v1/approvals/${id}`, body);
}

export function paid({ http }: ApprovalBench): readonly unknown[] {
  return http.heard.map(({ body }) => JSON.parse(body) as unknown);
}
