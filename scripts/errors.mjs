// Writes docs/errors.md from the table of errors and its spellings; with --check it only fails if the page is out of date.
// It reads the built program: run it after `node scripts/build.mjs`.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const page = fileURLToPath(new URL('../docs/errors.md', import.meta.url));
const { errorKinds } = await import('../dist/src/kernel/errors.js');
const { dialects, spelled } = await import('../dist/src/http/operations/index.js');

/** @param {readonly string[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`;

const codes = Object.keys(errorKinds);

function rows() {
  return codes.map((code) => {
    const { status, retry, message, advice } = errorKinds[code];
    return row([`\`${code}\``, String(status), retry, message, advice]);
  });
}

function spellings() {
  const differs = (/** @type {string} */ code, /** @type {string} */ dialect) =>
    spelled(code, dialect) !== (dialect === 'telemetry' ? code.toUpperCase() : code);
  const own = codes.filter((code) => dialects.some((dialect) => differs(code, dialect)));
  return own.map((code) =>
    row([`\`${code}\``, ...dialects.map((dialect) => `\`${spelled(code, dialect)}\``)]),
  );
}

function text() {
  return `# Errors

\`node scripts/errors.mjs\` writes this page from \`src/kernel/error-kinds.ts\` and \`src/http/operations/dialect.ts\`; a test holds it to them.

An error says what is wrong, where (\`details.field\`, a setting, a file) and what to do. "Retry: later" means that the same request may succeed after a while (\`Retry-After\` says when, where it is known); "never" means that the request itself has to change. Status 200: the code stands in an execution, in the answer of an MCP tool or in a callback, whose request itself was answered.

## Codes

Logs, traces and the program use these codes. Clients see the spelling of their dialect, below.

| code | status | retry | meaning | what to do |
|---|---|---|---|---|
${rows().join('\n')}

## Dialects

| dialect | where | form |
|---|---|---|
| general | \`/api\`, \`/health\`, everything without a dialect of its own | \`{error, message, details?, status: "error"}\` |
| keys | \`/api/keys\` | the general form |
| invocation | agent streams, webhooks, manual runs of triggers | the general form |
| telemetry | \`/api/telemetry\` | \`{error: {code, message}}\`, every code in capitals |
| openai | \`/v1/chat/completions\`, other paths under \`/v1\` without \`anthropic-version\` | \`{error: {message, type, param, code}}\` |
| anthropic | \`/v1/messages\`, other paths under \`/v1\` with \`anthropic-version\` | \`{type: "error", error: {type, message, code}, request_id}\` |

An unknown path, a wrong method, a body that is too large and a missing credential are answered in the form of the path.

Codes that a dialect spells otherwise (telemetry writes all others in capitals too):

${row(['code', ...dialects])}
|${'---|'.repeat(dialects.length + 1)}
${spellings().join('\n')}
`;
}

if (!process.argv.includes('--check')) writeFileSync(page, text());
else if (readFileSync(page, 'utf8') !== text()) {
  process.stderr.write('errors: docs/errors.md is out of date; run: node scripts/errors.mjs\n');
  process.exit(1);
}
