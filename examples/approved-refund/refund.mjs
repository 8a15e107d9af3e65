// Asks the agent for a refund, and the person at this terminal for the permission. This program is the bank, too.
import { createInterface } from 'node:readline';
import { troupe } from '../connect.mjs';
import { standIn } from '../stand-in.mjs';

const bank = await standIn(8305, async ({ body }) => {
  console.log(`the bank pays: ${JSON.stringify(body)}`);
  return { paid: true };
});
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

let agent;
for await (const one of troupe.agents.list()) if (one.name === 'refunds') agent = one;
if (agent === undefined) throw new Error('There is no agent refunds. Apply the file of the example first.');

try {
  for await (const event of troupe.agents.chat(
    agent.id,
    process.argv[2] ?? 'Refund order 1042 with 20 dollars',
  )) {
    if (event.type === 'approval') {
      console.log(`The agent wants ${event.tool} ${JSON.stringify(event.arguments)}.`);
      process.stdout.write('Allow it? [y/N]\n');
      const { value: answer = '' } = await lines.next();
      const isAllowed = /^y/i.test(answer);
      const decision = isAllowed
        ? { decision: 'approve' }
        : { decision: 'deny', reason: 'Not without a receipt.' };
      await troupe.approvals.decide({ path: { id: event.approval_id }, body: decision });
    }
    if (event.type === 'response') console.log(`agent: ${event.content}`);
    if (event.type === 'done') console.log(event.outcome);
  }
} finally {
  terminal.close();
  bank.close();
}
