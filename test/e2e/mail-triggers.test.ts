import test from 'ava';
import { createTransport } from 'nodemailer';
import { eventually } from '../support/clocks/eventually.js';
import { answersOf, sharedMailNode } from '../support/servers/mails.js';
import { createTrigger, executionsOf } from '../support/builders/triggers.js';

// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test);

test.serial('mail is accepted once it is durable, answered in its thread, and runs once', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, { allowed_senders: ['@example.com'] }, 'email');
  const sender = createTransport({ host: '127.0.0.1', port: node.mailPort, ignoreTLS: true });
  t.teardown(async () => sender.close());
  const to = `${trigger.id}@agents.example`;
  const mail = {
    from: 'Ada <Ada@example.com>',
    to,
    subject: 'A question',
    text: 'What time is it?',
    messageId: '<first@example.com>',
  };
  await sender.sendMail(mail);
  await sender.sendMail(mail);
  const [answer] = await eventually(async () => {
    const answers = await answersOf(node, trigger);
    return answers.length > 0 ? answers : undefined;
  });
  t.is(answer?.subject, 'Re: A question');
  t.is(answer?.text?.trim(), 'echo: What time is it?');
  t.is(answer?.inReplyTo, '<first@example.com>');
  t.is(answer?.from?.value[0]?.address, to);
  t.is(answer?.headers.get('auto-submitted'), 'auto-replied');

  // The reply to the answer belongs to the same conversation, and its quote is not asked again.
  await sender.sendMail({
    ...mail,
    messageId: '<second@example.com>',
    text: 'And the day?\n\nOn Monday the agent wrote:\n> echo: What time is it?\n',
    inReplyTo: answer?.messageId,
    references: ['<first@example.com>', String(answer?.messageId)],
  });
  await eventually(
    async () =>
      (await executionsOf(node, trigger)).filter(({ status }) => status === 'completed').length === 2,
    { everyMs: 200 },
  );
  const [second, first] = await executionsOf(node, trigger);
  t.is(second.input_preview, 'And the day?');
  t.is(second.session_id, first.session_id);

  // Automatic mails are recorded and never answered.
  await sender.sendMail({
    ...mail,
    messageId: '<auto@example.com>',
    headers: { 'Auto-Submitted': 'auto-replied' },
  });
  await sender.sendMail({ ...mail, messageId: '<list@example.com>', headers: { Precedence: 'bulk' } });
  await sender.sendMail({ ...mail, messageId: '<stranger@example.com>', from: 'eve@elsewhere.example' });
  const executions = await executionsOf(node, trigger);
  t.is(executions.length, 3);
  t.like(executions[0], { status: 'blocked' });
});

test.serial('mail to an unknown recipient is refused during SMTP', async (t) => {
  const node = await shared.tenant(t);
  const webhook = await createTrigger(node, {});
  const sender = createTransport({ host: '127.0.0.1', port: node.mailPort, ignoreTLS: true });
  t.teardown(async () => sender.close());
  for (const to of [
    'nobody@agents.example',
    `${webhook.id}@agents.example`,
    '6f0c1c7e-9d3a-4b52-8a51-0f6f8f1d2c3b@agents.example',
  ]) {
    const error = await t.throwsAsync(
      sender.sendMail({ from: 'ada@example.com', to, subject: 'x', text: 'x' }),
    );
    t.is(error !== undefined && 'responseCode' in error ? error.responseCode : 0, 550, to);
  }
});
