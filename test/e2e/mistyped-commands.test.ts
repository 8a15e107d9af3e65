import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { runProgram } from '../support/servers/program.js';

const mistyped: readonly (readonly [words: readonly string[], says: RegExp])[] = [
  [['tennants', 'list'], /there is no command tennants\. Did you mean "tenants"\?/],
  [['kyes'], /there is no command kyes\. Did you mean "keys"\?/],
  [['keys', 'list', '--tennant', randomUUID()], /there is no option --tennant\. Did you mean "--tenant"\?/],
  [
    ['keys', 'create', '--expires-day=3'],
    /there is no option --expires-day\. Did you mean "--expires-days"\?/,
  ],
  [['keys', 'revok', randomUUID()], /there is no action revok\. Did you mean "revoke"\?/],
  [['keys', 'create', '--role', 'edtior'], /there is no role edtior\. Did you mean "editor"\?/],
  [
    ['tenants', 'plan', randomUUID(), 'enterprize'],
    /there is no plan enterprize\. Did you mean "enterprise"\?/,
  ],
  [
    ['tenants', 'plan', randomUUID(), 'gold'],
    /there is no plan gold\. Choose one of free, basic, pro, enterprise\./,
  ],
  [['vault', 'rotat'], /there is no action rotat\. Did you mean "rotate"\?/],
  [['mcp', '--read-only', 'yes'], /--read-only must be on or off, not yes/],
  [['serve', '--port', '9000'], /there is no option --port\./],
  [['config', 'all'], /all is not expected: settings come from the environment/],
];

for (const [words, says] of mistyped) {
  test.serial(
    `troupe ${words.slice(0, 3).join(' ').slice(0, 40)}: names what is wrong and the closest known name`,
    async (t) => {
      const dataDir = join(tmpdir(), `mistyped-${randomUUID()}`);
      const program = runProgram('bin/troupe.mjs', words, { TROUPE_DATA_DIR: dataDir });
      t.is(await program.ended, 2, program.output());
      t.regex(program.output(), says);
      t.regex(program.output(), /Usage:/);
    },
  );
}
