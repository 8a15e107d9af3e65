// Words that come by tools, mails and rows of a database are gone after an erasure, in tables, logs and Redis.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { calling, saying } from '../support/builders/tool-turns.js';
import { httpTool } from '../support/builders/published-agents.js';
import { asOwner, createTrigger, executionsOf, type TestTrigger } from '../support/builders/triggers.js';
import { eventually } from '../support/clocks/eventually.js';
import { keysWith, tablesWith } from '../support/database/tables-with.js';
import { startConversations } from '../support/servers/conversations.js';
import { startShop } from '../support/servers/databases.js';
import { sendMail, startMailNode } from '../support/servers/mails.js';
import { PrivateRedis } from '../support/servers/redis.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

test('what tools, mails and rows said is in no table, no log and no key after an erasure', async (t) => {
  const word = `planted${randomBytes(10).toString('hex')}`;
  const redis = await PrivateRedis.start();
  t.teardown(() => redis.stop());
  const vendor = await new OpenAiServer().start();
  t.teardown(() => vendor.stop());
  vendor.decide = ({ body }) => {
    const { role, content } = (body['messages'] as { role: string; content: unknown }[]).at(-1) ?? {};
    if (role === 'user' && JSON.stringify(content).includes('note it'))
      return calling(['note', { text: word }]);
    return saying(`answer ${word}`);
  };
  const node = await startMailNode(t, {
    OPENAI_API_KEY: 'sk-test',
    OPENAI_BASE_URL: vendor.baseUrl,
    REDIS_URL: redis.url,
  });
  const { client, bootstrap, databaseUrl } = node;
  const { api_key: key } = bootstrap;
  const heard = await startToolServer(t, (_request, response) => answerJson(response, { noted: word }));
  const talk = await startConversations(node);
  const agentId = await talk.agent('openai.gpt-4.1-mini', {}, [
    httpTool('note', heard.url, { method: 'POST' }),
  ]);
  const turn = await talk.say(
    { message: 'please note it', consumer_key: word, bindings: { hidden: word } },
    { agentId },
  );
  t.deepEqual(turn.outcomes, ['COMPLETED']);
  t.true(JSON.stringify(heard.heard).includes(word), 'the tool was told the word');

  const ended = (trigger: TestTrigger) =>
    eventually(
      async () => {
        const [execution] = await executionsOf(node, trigger);
        return execution?.status === 'completed' && execution;
      },
      { everyMs: 100 },
    );
  const mails = await createTrigger(node, { reply: true }, 'email');
  const sender = `${word}@example.com`;
  const mail = {
    to: `${mails.id}@example.org`,
    from: `${word} <${sender}>`,
    messageId: `<${word}@mail.example.com>`,
    subject: `About ${word}`,
    text: `hear ${word}`,
    attachments: [{ filename: `${word}.txt`, content: word }],
  };
  t.is(await sendMail(node.mailPort, mail), 250);
  await ended(mails);

  const { place, client: shop } = await startShop(t);
  await shop.query('create table visits (id bigint primary key, guest text)');
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  const rows = await createTrigger(
    node,
    {
      database_config_id: made.json.data.id,
      table: 'public.visits',
      cursor_column: 'id',
      poll_ms: 100,
      channel: 'visits',
      message_template: 'Guest {{ guest }}',
    },
    'db_event',
  );
  await shop.query('insert into visits values (1, $1)', [word]);
  const { session_id: ofRow } = await ended(rows);

  const before = await tablesWith(databaseUrl, word);
  for (const table of ['execution_steps', 'messages', 'executions', 'sessions', 'consumers'])
    t.true(before.includes(table), `${table}: ${before.join()}`);
  for (const person of [word, sender]) {
    const erased = await client.call('DELETE', `/api/v1/consumers/${encodeURIComponent(person)}`, { key });
    t.is(erased.status, 200, erased.text);
    t.is(erased.json.data.sessions, 1, person);
  }
  const session = await client.call('DELETE', `/api/v1/sessions/${String(ofRow)}`, { key });
  t.is(session.status, 200, session.text);
  t.deepEqual(await tablesWith(databaseUrl, word), []);
  t.deepEqual(await keysWith(redis, word), []);
  t.false(node.log().includes(word));
});
