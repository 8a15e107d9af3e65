import test from 'ava';
import { eventually } from '../../support/clocks/eventually.js';
import { runCommand } from '../../support/servers/program.js';

/** Writes the two bytes of an é one after the other; the second at a signal. */
const writer = `
  const stream = process[process.argv[1]];
  process.on('SIGUSR2', () => {
    stream.write(Buffer.from([0xa9]));
    process.exit();
  });
  setInterval(() => undefined, 60_000);
  stream.write(Buffer.from([0x63, 0xc3]));
`;

for (const stream of ['stdout', 'stderr']) {
  test(`A character that ${stream} brings in two pieces is one character`, async (t) => {
    const program = runCommand(process.execPath, ['-e', writer, stream], {});
    await eventually(() => program.output().startsWith('c'), { what: 'the first piece' });
    program.process.kill('SIGUSR2');
    t.is(await program.ended, 0);
    t.is(program.output(), 'cé');
  });
}
