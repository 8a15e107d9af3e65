// Sends three messages of one person in a row, as Meta would, and prints every answer. This program is WhatsApp.
import { createHmac } from 'node:crypto';
import { webhookOf } from '../connect.mjs';
import { standIn } from '../stand-in.mjs';

const { app_secret: appSecret } = JSON.parse(process.env.WHATSAPP_SECRET ?? '{}');
if (appSecret === undefined)
  throw new Error('WHATSAPP_SECRET is missing: the same value as for troupe apply.');

const answers = [];
const server = await standIn(8302, async ({ body }) => {
  answers.push(body.text.body);
  console.log(`to ${body.to}: ${JSON.stringify(body.text.body)}`);
  return { messages: [{ id: `wamid.answer.${answers.length}` }] };
});

const webhook = await webhookOf('whatsapp-shop');
const person = '4917155501';

async function say(text) {
  const message = { id: `wamid.${crypto.randomUUID()}`, from: person, type: 'text', text: { body: text } };
  const value = {
    messaging_product: 'whatsapp',
    metadata: { phone_number_id: '555' },
    contacts: [{ wa_id: person, profile: { name: 'Ada' } }],
    messages: [message],
  };
  const entry = [{ id: '1', changes: [{ field: 'messages', value }] }];
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry });
  const signature = createHmac('sha256', appSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  const response = await fetch(webhook, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  console.log(`${text} → ${response.status}`);
}

try {
  for (const text of ['Hello!', 'Two loaves of rye', 'and six rolls, please']) await say(text);
  const endsAt = Date.now() + 60_000;
  while (answers.length === 0 && Date.now() < endsAt) await new Promise((go) => setTimeout(go, 100));
} finally {
  server.close();
}
console.log(`${answers.length} answer for 3 messages`);
