// Writes docs/fields.md from the table of request fields; with --check it only fails if the page is out of date.
// It reads the built program: run it after `node scripts/build.mjs`.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const page = fileURLToPath(new URL('../docs/fields.md', import.meta.url));
const { families, fieldTable } = await import('../dist/src/llm/wire/field-table.js');
const { treatmentOf } = await import('../dist/src/llm/wire/treatment.js');

/** @param {readonly string[]} cells */
const row = (cells) => `| ${cells.join(' | ')} |`;

/** @param {'chat' | 'messages'} dialect */
function table(dialect) {
  const rows = fieldTable[dialect].map(({ field, needs, needsAt }) =>
    row([
      `\`${field}\`${needs === undefined ? '' : ` (${[needs, ...(needsAt ?? [])].join(', ')})`}`,
      ...families.map((family) => treatmentOf(dialect, field, family)),
    ]),
  );
  const others = row(['any other', ...families.map((family) => treatmentOf(dialect, ' ', family))]);
  return [row(['field', ...families]), `|${'---|'.repeat(families.length + 1)}`, ...rows, others].join('\n');
}

function text() {
  return `# Fields of requests, by vendor

\`node scripts/fields.mjs\` writes this page from \`src/llm/wire/field-table.ts\`; a test holds it to the table.

- **passed**: sent as the caller wrote it, with fields that the platform does not know and the header \`anthropic-beta\`.
- **translated**: sent in the vendor's own words.
- **ignored**: not sent, and listed in the response header \`X-Troupe-Ignored\`; only what does not change the answer or is a mere wish.
- **refused**: 400 \`validation_error\` in the form of the endpoint, which names the field; nothing is spent.

The platform decides three things itself: the model's name at the vendor, a bound of the output above the model's maximum (it is reduced), and that a stream ends with the usage. A capability in brackets, such as (temperature): the field is ignored for models of other formats without it, at the vendors named behind it if there are any. A field that the vendor does not take beside another is ignored too: a temperature while the model thinks, thoughts while a tool must be called (\`docs/decisions/0259-a-forced-tool-before-thoughts.md\`), \`top_p\` beside \`temperature\` at Anthropic. So are stop sequences of white space at Anthropic and those after the fourth at OpenAI and the fifth at Google. A field inside another one is named by its path without positions. A value that asks for nothing (\`null\`, an empty list, \`presence_penalty: 0\`, \`logprobs: false\`, \`store: false\`) counts as absent. A field with which a vendor may answer with another model is refused also where its name is known, and so are tools of the vendor's own that hand work to another model: Anthropic's advisor, and OpenRouter's advisor, subagent and fusion. \`service_tier\`, \`speed\` and \`inference_geo\` are refused if the model has no price for their value (\`docs/decisions/0161-service-tiers-at-their-price.md\`, \`docs/decisions/0247-no-other-model-at-the-vendor.md\`). Automatic choice of the model (\`auto\`) and fallbacks leave out models that would refuse a field. \`compatible\` stands for the operator's own vendors.

## \`POST /v1/chat/completions\`

${table('chat')}

## \`POST /v1/messages\`

${table('messages')}
`;
}

if (!process.argv.includes('--check')) writeFileSync(page, text());
else if (readFileSync(page, 'utf8') !== text()) {
  process.stderr.write('fields: docs/fields.md is out of date; run: node scripts/fields.mjs\n');
  process.exit(1);
}
