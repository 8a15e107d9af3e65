import test from 'ava';
import { dialects, spelled } from '../../../src/http/operations/index.js';
import { type ErrorCode, errorKinds } from '../../../src/kernel/errors.js';
import { errorsText } from '../../../src/mcp/resources/errors-guide.js';

const rows = errorsText()
  .split('\n')
  .map((line) => line.split(/ \| |^\| | \|$/).slice(1, -1))
  .map(([codes = '', ...cells]) => ({ codes: codes.split(' or '), cells }));

for (const [code, { status, message }] of Object.entries(errorKinds)) {
  test(`the page lists ${code} as each dialect spells it`, (t) => {
    for (const dialect of dialects) {
      const spelling = spelled(code as ErrorCode, dialect);
      const row = rows.find(({ cells }) => cells[1] === message);
      t.true(
        row?.codes.includes(spelling) === true || row?.cells[3] === spelling,
        `${spelling} (${dialect})`,
      );
      t.is(row?.cells[0], String(status));
      t.true(['yes, later', 'no'].includes(row?.cells[2] ?? ''));
    }
  });
}

test('the page lists what executions and tools show for turns without an HTTP answer', (t) => {
  for (const code of [
    'worker_lost',
    'approval_pending',
    'unreadable_mail',
    'unreadable_row',
    'unauthenticated_sender',
  ])
    t.true(
      rows.some(({ codes }) => codes.includes(code)),
      code,
    );
});
