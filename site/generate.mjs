// Writes the pages of the reference that come from the product itself: site/pages, which is not kept.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingTable } from '../dist/src/kernel/config/index.js';
import { httpPages } from './http-reference.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = `${root}site/pages/reference/`;

rmSync(`${root}site/pages`, { recursive: true, force: true });
write('commands.md', commandsPage());
write('settings.md', settingsPage());
for (const [name, text] of httpPages(JSON.parse(readFileSync(`${root}docs/openapi.json`, 'utf8')))) {
  write(`http/${name}.md`, text);
}

function write(name, text) {
  mkdirSync(dirname(`${target}${name}`), { recursive: true });
  writeFileSync(`${target}${name}`, text);
}

function commandsPage() {
  const [operating, developing, ending] = helpOf().trimEnd().split('\n\n');
  const rows = [...rowsOf(operating), ...rowsOf(developing)];
  const names = rows.map(([word]) => word.replace(/^troupe /, ''));
  return [
    '# Commands',
    'What `troupe --help` and `troupe help COMMAND` print. For an installation, beside its database and nodes:',
    tableOf(['command', 'what it does'], rowsOf(operating)),
    'Over the API of an installation, with the key of `troupe login` or `TROUPE_API_KEY`:',
    tableOf(['command', 'what it does'], rowsOf(developing)),
    cell(ending),
    ...names.flatMap((name) => [`## ${name}`, commandPart(helpOf(name))]),
  ].join('\n\n');
}

/** Usage, what the command does, and a table of its options. */
function commandPart(help) {
  const [usage, summary, ...others] = help.trimEnd().split('\n\n');
  const plain = usage.replace(/^Usage: /, '').replaceAll(/^ +/gm, '');
  const isTable = others.length === 1 && /^ {2}-/.test(others[0]);
  if (!isTable && (others.length > 0 || summary.includes('\n  '))) return block(help);
  const options = isTable ? [tableOf(['option', 'meaning'], rowsOf(others[0]))] : [];
  return [block(plain), cell(summary), ...options].join('\n\n');
}

/** The rows of two columns, whose lines may go on behind a margin. */
function rowsOf(text) {
  const rows = [];
  for (const line of text.split('\n')) {
    const [, word, meaning] = /^ {2}(\S.*?)(?: {2,}|$)(.*)$/.exec(line) ?? [];
    const goesOn = /^ {3,}(\S.*)$/.exec(line)?.[1];
    if (word !== undefined) rows.push([word, meaning]);
    else if (goesOn !== undefined) rows.at(-1)[1] += ` ${goesOn}`;
  }
  return rows;
}

function tableOf(head, rows) {
  const lines = rows.map(([word, meaning]) => `| ${code(word)} | ${cell(meaning)} |`);
  return [`| ${head.join(' | ')} |`, '|---|---|', ...lines].join('\n');
}

function helpOf(...words) {
  return execFileSync(process.execPath, [`${root}bin/troupe.mjs`, ...words, '--help'], { encoding: 'utf8' });
}

function block(text) {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}

function settingsPage() {
  const rows = Object.values(settingTable).map(({ variable, meaning, example, fallback, secret }) => {
    const standard = secret ? 'none' : (fallback ?? 'none');
    const file = secret ? `; or \`${variable}_FILE\`` : '';
    return `| \`${variable}\` | ${cell(meaning)}${file} | ${code(standard)} | ${code(example)} |`;
  });
  return [
    '# Settings',
    'Settings come from the environment. `npx troupe config` lists them with their values. A secret may be given as a file, in the variable with `_FILE`.',
    ['| variable | meaning | default | example |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}

function code(text) {
  return text === 'none' || text === '' ? 'none' : `\`${cell(text)}\``;
}

function cell(text) {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;');
}
