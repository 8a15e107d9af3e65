// Direct calls of a vendor that keeps its own bill, each with a prompt of its own.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { NodeProcess } from '../../test/support/servers/nodes.js';
import type { OpenAiServer } from '../../test/support/servers/vendors/openai-server.js';

/** Longer than a call takes while its node is frozen. */
const patienceMs = 20_000;

export class VendorCalls {
  answered = 0;
  readonly #open = new Set<Promise<void>>();
  #isOver = false;
  #running: Promise<void> = Promise.resolve();

  start(alive: () => readonly NodeProcess[], key: string, perSecond: number): void {
    const run = async (): Promise<void> => {
      while (!this.#isOver) {
        const nodes = alive();
        const node = nodes[Math.floor(Math.random() * nodes.length)];
        const one: Promise<void> = this.#call(node, key).finally(() => this.#open.delete(one));
        this.#open.add(one);
        await sleep(1_000 / perSecond);
      }
    };
    this.#running = run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  /** A refused or lost call is not repeated: its bill must be in the books all the same. */
  async #call(node: NodeProcess | undefined, key: string): Promise<void> {
    const body = { model: 'openai.gpt-4.1-mini', query: `call ${randomUUID()}` };
    const answer = await fetch(`${node?.url}/api/v3/llm/public/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patienceMs),
    }).catch(() => undefined);
    if (answer?.status === 200) this.answered += 1;
    await answer?.text().catch(() => undefined);
  }
}

/**
 * Calls whose books differ from the vendor's bill. A process that died leaves its open attempts as estimates, so calls with
 * one are left out; that the vendor was asked at all must be in the books.
 */
export async function billFaults(view: pg.Client, vendor: OpenAiServer): Promise<readonly string[]> {
  const { rows } = await view.query<{ prompt: string; attempts: number; tokens: number; exact: boolean }>(
    `select c.input_preview as prompt, count(*)::int as attempts, sum(u.input_tokens + u.output_tokens)::int as tokens,
       bool_and(u.outcome is distinct from 'orphaned' and u.usage_source = 'reported') as exact
     from usage_rows u left join calls c on c.tenant_id = u.tenant_id and c.call_id = u.call_id
     where u.vendor = 'openai' group by u.call_id, c.input_preview`,
  );
  const attempts = rows.reduce((sum, row) => sum + row.attempts, 0);
  const faults: string[] = [];
  if (attempts < vendor.requests.length) {
    faults.push(`the vendor was asked ${vendor.requests.length} times, the books have ${attempts} attempts`);
  }
  const billed = new Map<string, { requests: number; tokens: number }>();
  for (const { body, billed: cost } of vendor.requests) {
    const prompt = promptIn(body);
    const before = billed.get(prompt) ?? { requests: 0, tokens: 0 };
    billed.set(prompt, { requests: before.requests + 1, tokens: before.tokens + cost.input + cost.output });
  }
  for (const { prompt, attempts: booked, tokens, exact } of rows) {
    const bill = billed.get(prompt);
    if (!exact || bill === undefined) continue;
    if (bill.requests !== booked || bill.tokens !== tokens) {
      faults.push(`${prompt}: billed ${bill.requests} × ${bill.tokens} tokens, booked ${booked} × ${tokens}`);
    }
  }
  return faults;
}

function promptIn(body: Readonly<Record<string, unknown>>): string {
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  const last: unknown = messages.at(-1);
  const content: unknown = typeof last === 'object' && last !== null ? Reflect.get(last, 'content') : '';
  return typeof content === 'string' ? content : '';
}
