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
  const overview = helpOf();
  const names = [...new Set([...overview.matchAll(/^ {2}troupe (\w+)/gm)].map(([, name]) => name))];
  const parts = names.map((name) => `## ${name}\n\n${block(helpOf(name))}`);
  return [
    '# Commands',
    'What `troupe --help` and `troupe <command> --help` print.',
    block(overview),
    ...parts,
  ].join('\n\n');
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
