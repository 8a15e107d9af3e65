import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sharedMailNode } from '../support/servers/mails.js';
import type { TenantNode } from '../support/servers/node.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';
import { addSecret, createTrigger, executionsOf, type TestTrigger } from '../support/builders/triggers.js';

const run = promisify(execFile);

let meta: ToolServer;
let slack: ToolServer;
const shared = sharedMailNode(test, async (atEnd) => {
  meta = await startToolServer(atEnd, (_request, response) => answerJson(response, {}));
  slack = await startToolServer(atEnd, (_request, response) => answerJson(response, { ok: true }));
  return { environment: { TROUPE_WHATSAPP_BASE_URL: meta.url, TROUPE_SLACK_BASE_URL: slack.url } };
});

/** Runs the guide's commands, and returns their output. */
async function follow(
  guide: string,
  node: TenantNode,
  trigger: TestTrigger,
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const text = readFileSync(`docs/guides/${guide}.md`, 'utf8');
  const scripts = [...text.matchAll(/^ *```sh run\n([\s\S]*?)^ *```$/gm)].map(([, script]) => script ?? '');
  const printed: string[] = [];
  for (const script of scripts) {
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      env: {
        PATH: process.env['PATH'],
        BASE_URL: node.node.baseUrl,
        TRIGGER_ID: trigger.id,
        WEBHOOK_SECRET: trigger.secret,
        ...environment,
      },
    });
    printed.push(stdout);
  }
  return printed;
}

test('the commands of the guide to signed webhooks work', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { context_mapping: { customer: '$.customer.name' } });
  const [answer = ''] = await follow('send-a-signed-webhook', node, trigger);
  t.is(JSON.parse(answer).agent_response, 'echo: Where is my order?');
});

test('the commands of the guide to Twilio work', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'twilio', 'AC1:token');
  const trigger = await createTrigger(node, {
    channel: { type: 'twilio', auth: { type: 'basic', secret_ref: 'twilio' } },
  });
  const [answer] = await follow('answer-on-twilio', node, trigger, { AUTH_TOKEN: 'token' });
  t.is(answer, '<Response><Message>echo: Hello</Message></Response>');
});

test('the commands of the guide to WhatsApp work', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'whatsapp', JSON.stringify({ access_token: 'EAA', app_secret: 'shh' }));
  const trigger = await createTrigger(node, {
    channel: { type: 'whatsapp_cloud', auth: { type: 'bearer', secret_ref: 'whatsapp' } },
  });
  const [challenge, accepted = ''] = await follow('answer-on-whatsapp', node, trigger, { APP_SECRET: 'shh' });
  t.is(challenge, '1158201444');
  t.true(JSON.parse(accepted).success);
  await eventually(() => meta.heard.length === 1);
  t.is((await executionsOf(node, trigger)).length, 1);
});

test('the commands of the guide to Slack work', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'slack', JSON.stringify({ bot_token: 'xoxb', signing_secret: 'shh' }));
  const trigger = await createTrigger(node, { channel: { type: 'slack', auth: { secret_ref: 'slack' } } });
  const [challenge = '', accepted] = await follow('answer-on-slack', node, trigger, {
    SIGNING_SECRET: 'shh',
  });
  t.deepEqual(JSON.parse(challenge), { challenge: '3eZbrw1aB' });
  t.is(typeof accepted, 'string');
  await eventually(() => slack.heard.length === 1);
  t.like(JSON.parse(slack.heard[0]?.body ?? ''), { thread_ts: '1700000000.000100', text: 'echo: Hello' });
});

test('the commands of the guide to mail work', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { allowed_senders: ['@example.com'] }, 'email');
  await follow('mail-channel', node, trigger, { MAIL_PORT: String(node.mailPort) });
  const [execution] = await eventually(async () => {
    const executions = await executionsOf(node, trigger);
    return executions.some(({ status }) => status === 'completed') && executions;
  });
  t.is(execution?.['input_preview'], 'Do you have a room on Friday?');
});
