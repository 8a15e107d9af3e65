import { authorizedFetch } from '../../../api/client';
import { apiErrorOf } from '../../../api/errors';
import { readEvents } from '../../../api/event-stream';

/** One event of a turn, as its stream sends it. */
export type TurnEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export interface TurnRequest {
  readonly message: string;
  readonly session_id?: string;
  readonly attachments?: readonly object[];
}

const attemptsMax = 8;
const pauseMs = 500;

/** Runs a turn and follows its stream over lost connections, after the last event that arrived. */
export async function followTurn(
  agentId: string,
  request: TurnRequest,
  receive: (event: TurnEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let executionId: string | undefined;
  let lastId = '0';
  const ended = { done: false };
  const read = async (input: Request): Promise<void> => {
    const response = await authorizedFetch(input);
    if (!response.ok || response.body === null) throw apiErrorOf(response, await bodyOf(response));
    await readEvents(response.body, ({ id, data }) => {
      if (id !== undefined) lastId = id;
      if (data === undefined || ended.done) return;
      const event = JSON.parse(data) as TurnEvent;
      if (event.type === 'metadata') executionId = String(event['execution_id']);
      if (event.type === 'done') ended.done = true;
      receive(event);
    });
  };
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ ...request, capabilities: { blocks: ['quick_replies'] } });
  const url = `${location.origin}/api/v2/agents/${encodeURIComponent(agentId)}/stream`;
  let failure = await attempt(read(new Request(url, { method: 'POST', headers, body, signal })));
  for (let number = 1; !ended.done && !signal.aborted; number += 1) {
    if (executionId === undefined || number > attemptsMax) {
      throw failure ?? lost();
    }
    const before = lastId;
    const again = `${location.origin}/api/v1/executions/${executionId}/stream`;
    failure = await attempt(read(new Request(again, { headers: { 'last-event-id': lastId }, signal })));
    // Progress begins the count anew.
    if (lastId !== before) number = 0;
    if (!ended.done) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function attempt(work: Promise<void>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : lost();
  }
}

const lost = (): Error => new Error('The connection to the turn was lost.');

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
