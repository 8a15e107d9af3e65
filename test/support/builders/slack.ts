// Messages of people at Slack, signed as Slack signs them.
import { createHmac } from 'node:crypto';
import type { CallResult } from '../clients/client.js';
import { addSecret, createTrigger, type TenantAccess, type TestTrigger } from './triggers.js';

export async function slackTrigger(node: TenantAccess, more: object = {}): Promise<TestTrigger> {
  await addSecret(node, 'slack', JSON.stringify({ bot_token: 'xoxb-of-tests', signing_secret: 'signing' }));
  return createTrigger(node, { channel: { type: 'slack', auth: { secret_ref: 'slack' } }, ...more });
}

export function sendFromSlack(
  { client }: Pick<TenantAccess, 'client'>,
  { path }: TestTrigger,
  payload: object,
  { secret = 'signing', ageSeconds = 0, headers = {} } = {},
): Promise<CallResult> {
  const body = JSON.stringify(payload);
  const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
  const hex = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  return client.call('POST', path, {
    body,
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${hex}`,
      ...headers,
    },
  });
}

export function said(text: string, event: object = {}): object {
  const usual = { type: 'message', user: 'U1', channel: 'C1', ts: '1700000000.000100', text };
  return { type: 'event_callback', team_id: 'T1', event_id: 'Ev1', event: { ...usual, ...event } };
}

/** The thread of one channel; each message has its own time. */
export function threadAt(channel: string): (user: string, text: string, event?: object) => object {
  let count = 0;
  return (user, text, event = {}) => {
    count += 1;
    return said(text, {
      user,
      channel,
      ts: `1700000000.${String(100 + count).padStart(6, '0')}`,
      thread_ts: '1700000000.000100',
      ...event,
    });
  };
}
