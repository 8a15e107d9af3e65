import { createHmac, randomUUID } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type NodeProcess, type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { ownerView } from '../support/database/owner-view.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';

const messages = Number(process.env['TROUPE_TEST_WEBHOOKS'] ?? 600);
const sessions = Math.min(200, Math.ceil(messages / 6));
const burst = 40;

interface Target {
  readonly path: string;
  readonly secret: string;
}

async function trigger(
  { nodes, bootstrap }: NodeProcesses,
  receiver: ToolServer,
  buffered: boolean,
): Promise<Target> {
  const made = await nodes[0]?.client.call('POST', '/api/triggers', {
    token: bootstrap.access_token,
    tenant: bootstrap.tenant_id,
    body: {
      agent_id: bootstrap.agent_id,
      name: buffered ? 'buffered' : 'at once',
      trigger_type: 'webhook',
      trigger_config: {
        session_strategy: { mode: 'derive', fields: ['user'] },
        execution: {
          mode: 'async',
          callback: { url: receiver.url },
          split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
          message_buffer: { enabled: buffered, window_ms: 300, max_messages: 4 },
        },
      },
    },
  });
  return {
    path: `/api/triggers/webhook/${String(made?.json.data.id)}`,
    secret: String(made?.json.data.webhook_secret),
  };
}

/** Sends until acknowledged, like a careful sender: with the same id every time. */
async function send(
  alive: () => readonly NodeProcess[],
  target: Target,
  message: string,
  user: string,
): Promise<void> {
  const body = JSON.stringify({ message, user });
  const signature = createHmac('sha256', target.secret).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-webhook-signature': `sha256=${signature}`,
    'x-webhook-id': message,
  };
  await eventually(
    async () => {
      const nodes = alive();
      const node = nodes[Math.floor(Math.random() * nodes.length)];
      const response = await fetch(`${node?.url}${target.path}`, {
        method: 'POST',
        headers,
        body,
        signal: AbortSignal.timeout(20_000),
      }).catch(() => undefined);
      await response?.arrayBuffer().catch(() => undefined);
      return response?.status === 202;
    },
    { timeoutMs: 240_000, everyMs: 200, what: `an acknowledgement of ${message}` },
  );
}

test.serial(
  'acknowledged webhooks run once and are answered completely although a node dies in a burst',
  async (t) => {
    t.timeout(Math.max(600_000, messages * 300));
    const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
    const cluster = await startNodes(t);
    const targets = [
      await trigger(cluster, receiver, false),
      await trigger(cluster, receiver, true),
    ] as const;
    const alive = new Set(cluster.nodes);
    const run = randomUUID().slice(0, 8);
    // Long enough for an answer in two chunks, and identified by its number.
    const all = Array.from({ length: messages }, (_, index) => `${run}-${index}-${'.'.repeat(90)}`);
    let sent = 0;
    let killed: Promise<void> | undefined;
    const one = async (message: string, index: number): Promise<void> => {
      const target = targets[index % 2 === 0 ? 0 : 1];
      const user = `user-${index % sessions}`;
      await send(() => [...alive], target, message, user);
      // A tenth is sent twice.
      if (index % 10 === 0) await send(() => [...alive], target, message, user);
      sent += 1;
      const [, victim] = cluster.nodes;
      if (sent === Math.floor(messages / 2) && victim !== undefined) {
        alive.delete(victim);
        killed = victim.kill();
      }
    };
    for (let start = 0; start < all.length; start += burst) {
      await Promise.all(all.slice(start, start + burst).map((message, at) => one(message, start + at)));
    }
    await killed;

    const owner = await ownerView(cluster.databaseUrl);
    t.teardown(() => owner.end());
    const rows = async () => {
      const { rows: found } = await owner.query<{
        id: string;
        message: string;
        delivery_status: string;
        outcome: string;
      }>(
        `select id, input ->> 'message' as message, delivery_status, outcome from executions where trigger_id is not null`,
      );
      return found;
    };
    const askedOf = (found: readonly { message: string }[]): string[] =>
      found.flatMap(({ message }) => message.split('\n'));
    await eventually(
      async () => {
        const found = await rows();
        return (
          askedOf(found).length >= messages &&
          found.every(({ delivery_status }) => delivery_status === 'delivered')
        );
      },
      { timeoutMs: Math.max(300_000, messages * 150), everyMs: 1_000, what: 'every answer is delivered' },
    );
    const found = await rows();
    t.deepEqual(
      askedOf(found).toSorted((a, b) => a.localeCompare(b)),
      all.toSorted((a, b) => a.localeCompare(b)),
      'each message is in exactly one execution',
    );
    t.true(found.every(({ outcome }) => outcome === 'COMPLETED'));

    const arrived = new Map<string, string[]>();
    for (const { headers, body } of receiver.heard) {
      const [execution = '', chunk = ''] = String(headers['idempotency-key']).split(':');
      const chunks = arrived.get(execution) ?? [];
      // A chunk may be repeated with its key, but never in another position.
      if (!chunks.includes(chunk)) arrived.set(execution, [...chunks, chunk]);
      t.is(String(JSON.parse(body).chunk_index), chunk);
    }
    t.is(arrived.size, found.length);
    for (const { id } of found) {
      const chunks = arrived.get(id) ?? [];
      t.true(chunks.length >= 2);
      t.deepEqual(
        chunks,
        chunks.map((_chunk, index) => String(index + 1)),
        'complete and in order',
      );
    }
  },
);
