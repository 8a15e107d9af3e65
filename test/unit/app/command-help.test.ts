import test from 'ava';
import { type CommandHelp, helpText } from '../../../src/app/command/help.js';
import { operatorHelp } from '../../../src/app/command/operator-help.js';

const described = Object.entries<CommandHelp>(operatorHelp);

test('help fits a terminal of 80 columns, usage aside', (t) => {
  for (const [name, help] of described) {
    const lines = helpText(help).split('\n').slice(help.usage.length);
    t.deepEqual(
      lines.filter((line) => line.length > 80),
      [],
      name,
    );
  }
});

test('help names each option once, with its meaning behind a margin', (t) => {
  const text = helpText({
    usage: ['copy --to FOLDER', 'copy --list'],
    summary: 'Copies.',
    options: {
      to: { value: 'FOLDER', about: `${'a folder '.repeat(9)}that is new` },
      list: { about: 'list them' },
    },
  });
  t.is(
    text,
    `Usage: troupe copy --to FOLDER
       troupe copy --list

Copies.

  --to FOLDER  a folder a folder a folder a folder a folder a folder a folder a
               folder a folder that is new
  --list       list them
`,
  );
});

test('actions and options of a usage are described, and no others', (t) => {
  for (const [name, { usage, actions = [], options }] of described) {
    const forms = usage.join('\n');
    const named = [...forms.matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
    t.deepEqual(
      named.filter((option) => !(option in options)),
      [],
      name,
    );
    const words = usage.flatMap((form) => /^\w+ ([a-z]+)/.exec(form)?.[1] ?? []);
    t.deepEqual(words, [...actions], name);
  }
});
