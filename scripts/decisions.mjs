// Writes docs/decisions/README.md from the decision files; with --check it only fails if the index is out of date.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../docs/decisions/', import.meta.url));
const index = join(folder, 'README.md');
const statuses = /^(?:proposed|accepted|rejected|superseded by \d{4})$/;

/** @param {string} file */
function rowOf(file) {
  const text = readFileSync(join(folder, file), 'utf8');
  const number = file.slice(0, 4);
  const [, title] = new RegExp(`^# ${number} (.+)$`, 'm').exec(text) ?? [];
  const [, status] = /^Status: (.+?)\s*$/m.exec(text) ?? [];
  const [, date] = /^Date: (\d{4}-\d{2}-\d{2})\s*$/m.exec(text) ?? [];
  if (title === undefined) throw new Error(`${file}: the first line must be "# ${number} Title"`);
  if (status === undefined || !statuses.test(status)) {
    throw new Error(`${file}: add a line "Status: proposed", "accepted", "rejected" or "superseded by NNNN"`);
  }
  if (date === undefined) throw new Error(`${file}: add a line "Date: YYYY-MM-DD"`);
  return `| [${number}](${file}) | ${title} | ${status} | ${date} |`;
}

function indexText() {
  const files = readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.md$/.test(name))
    .toSorted();
  const numbers = files.map((file) => file.slice(0, 4));
  const twice = numbers.find((number, place) => numbers.indexOf(number) !== place);
  if (twice !== undefined) throw new Error(`docs/decisions: two files have the number ${twice}`);
  return `# Decisions

Each decision has half a page: the context, the choice, its consequences. A decision that no longer holds stays here and names its successor. \`node scripts/decisions.mjs\` writes this index.

| | decision | status | date |
|---|---|---|---|
${files.map(rowOf).join('\n')}
`;
}

try {
  const text = indexText();
  if (!process.argv.includes('--check')) writeFileSync(index, text);
  else if (readFileSync(index, 'utf8') !== text) {
    throw new Error('docs/decisions/README.md is out of date; run: node scripts/decisions.mjs');
  }
} catch (error) {
  process.stderr.write(`decisions: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
