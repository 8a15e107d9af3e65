import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, sendSigned } from '../support/builders/triggers.js';

test('metrics count accepted, refused, buffered, sent and fired messages of triggers', async (t) => {
  const node = await startTestNode(t);
  let status = 503;
  const receiver = await startToolServer(t, (_request, response) => {
    answerJson(response, {}, status);
    status = 200;
  });
  const buffer = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      message_buffer: { enabled: true, max_messages: 2 },
    },
  });
  await sendSigned(node, buffer, { message: 'one', from: 'ada' });
  await sendSigned(node, buffer, { message: 'two', from: 'ada' });
  await sendSigned(node, buffer, { message: 'x' }, { 'x-webhook-signature': 'sha256=00' });
  const listed = await createTrigger(node, {
    sender_access: { mode: 'whitelist', identity_field: 'from', identifiers: ['ada@example.com'] },
  });
  await sendSigned(node, listed, { message: 'x', from: 'bob@example.com' });
  await createTrigger(node, { cron: '* * * * * *', message: 'tick' }, 'schedule');
  const value = (text: string, name: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`troupe_triggers_${name} `))
        ?.split(' ')[1] ?? 0,
    );
  const text = await eventually(async () => {
    const metrics = await node.client.call('GET', '/metrics', { token: operatorToken });
    const isWhole =
      value(metrics.text, 'delivery_attempts_total{outcome="delivered"}') > 0 &&
      // After its commit; how late it is is measured before.
      value(metrics.text, 'accepted_total{type="schedule"}') > 0;
    return isWhole && metrics.text;
  });
  t.is(value(text, 'accepted_total{type="webhook"}'), 2);
  t.true(value(text, 'schedule_lateness_seconds_count') > 0);
  t.is(value(text, 'buffered_total'), 2);
  t.is(value(text, 'flushed_total'), 1);
  t.is(value(text, 'refused_total{reason="invalid_signature"}'), 1);
  t.is(value(text, 'refused_total{reason="gate"}'), 1);
  t.is(value(text, 'delivery_attempts_total{outcome="repeated"}'), 1);
  t.is(value(text, 'delivery_lag_seconds_count'), 1);
  t.true(value(text, 'delivery_lag_seconds_sum') >= 0.5, 'the wait before the second attempt is part of it');
  const { data } = (await asOwner(node, 'GET', '/api/v1/deliveries')).json;
  t.is(data.length, 1);

  const away = await startToolServer(t, (_request, response) => answerJson(response, {}, 503));
  const failing = await createTrigger(node, {
    execution: { mode: 'async', callback: { url: away.url } },
  });
  await sendSigned(node, failing, { message: 'three' });
  await eventually(() => away.heard.length > 0);
  // The figures of the look before are kept for ten seconds.
  node.passMs(10_001);
  // A scrape that PostgreSQL keeps waiting for a second has the figures of the look before.
  const late = await eventually(async () => {
    const metrics = await node.client.call('GET', '/metrics', { token: operatorToken });
    return value(metrics.text, 'deliveries_waiting') > 0 && metrics.text;
  });
  t.is(value(late, 'deliveries_waiting'), 1);
  t.true(value(late, 'deliveries_oldest_seconds') > 0);
  t.true(value(late, 'deliveries_overdue_seconds') < 10, 'it waits for its next attempt');
  t.is(value(late, 'inbox_overdue_seconds'), 0);
});
