// Conversations of a node in this process, as clients hold them.
import type { TenantNode } from './node.js';
import { publishAgent } from '../builders/published-agents.js';
import { readTurn, type SeenEvent, type TurnReading } from '../clients/turn-reader.js';
import type { Json } from '../clients/client.js';

export interface Conversations {
  readonly agentId: string;
  /** A published agent with this model and other fields. */
  agent(model: string, more?: object, schemas?: readonly object[]): Promise<string>;
  /** A turn from its beginning to its end. */
  say(body: object | string, options?: SayOptions): Promise<TurnReading>;
  get(path: string): Promise<Json>;
  post(path: string, body?: object): Promise<{ readonly status: number; readonly json: Json }>;
}

export interface SayOptions {
  readonly agentId?: string;
  readonly key?: string;
  readonly cutAfter?: number;
  readonly onEvent?: (event: SeenEvent) => void;
}

export async function startConversations(node: TenantNode, model = 'sim.echo'): Promise<Conversations> {
  const { bootstrap, client } = node;
  const key = bootstrap.api_key;
  const agent = (agentModel: string, more: object = {}, schemas: readonly object[] = []): Promise<string> =>
    publishAgent(client, bootstrap, { model: agentModel, more, schemas });
  const agentId = await agent(model);
  return {
    agentId,
    agent,
    say: (body, options = {}) =>
      readTurn({
        urls: () => [client.baseUrl],
        key,
        agentId,
        body: typeof body === 'string' ? { message: body } : body,
        ...options,
      }),
    get: async (path) => (await client.call('GET', path, { key })).json,
    async post(path, body) {
      const { status, json } = await client.call('POST', path, {
        key,
        ...(body === undefined ? {} : { body }),
      });
      return { status, json };
    },
  };
}

export function typesOf({ events }: TurnReading): string[] {
  return events.map(({ type }) => type);
}

export function eventOf({ events }: TurnReading, type: string): SeenEvent['data'] | undefined {
  return events.find((event) => event.type === type)?.data;
}
