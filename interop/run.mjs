// Runs the unmodified clients of OpenAI, Anthropic, LangChain and the AI SDK, each feature whole and streamed, against a
// recording vendor and against the platform before the same vendor, and compares what arrives; then what the platform
// answers itself, with the models of `sim`: `npm run interop`.
// `--write` puts the table into docs/interop.md; without it, a page that says otherwise is a failure.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AnthropicServer } from '../dist/test/support/servers/vendors/anthropic-server.js';
import { OpenAiServer } from '../dist/test/support/servers/vendors/openai-server.js';
import { anthropicCases } from './cases/anthropic.mjs';
import { frameworkCases, simCases } from './cases/frameworks.mjs';
import { modelCases } from './cases/models.mjs';
import { openaiCases } from './cases/openai.mjs';
import { responseCases } from './cases/responses.mjs';
import { differences } from './compare.mjs';
import { startProduct } from './product.mjs';
import { tableOf } from './table.mjs';

const vendors = {
  openai: await new OpenAiServer().start(),
  anthropic: await new AnthropicServer().start(),
};
const product = await startProduct({
  OPENAI_API_KEY: 'sk-interop-0001',
  OPENAI_BASE_URL: vendors.openai.baseUrl,
  ANTHROPIC_API_KEY: 'sk-ant-interop-0001',
  ANTHROPIC_BASE_URL: vendors.anthropic.baseUrl,
});

/** Clients that force a tool take nothing but its call for an answer. */
const forcedCall = { id: 'call_1', name: 'get_weather', args: ['{"city":', '"Rome"}'] };

const results = [];
try {
  for (const one of [...openaiCases, ...anthropicCases, ...frameworkCases]) results.push(await compared(one));
  for (const one of [...simCases, ...responseCases, ...modelCases]) results.push(await tried(one));
} finally {
  await product.stop();
  await Promise.all(Object.values(vendors).map((vendor) => vendor.stop()));
}

const table = tableOf(results);
process.stdout.write(`${table}\n`);
const page = fileURLToPath(new URL('../docs/interop.md', import.meta.url));
if (process.argv.includes('--write')) writeFileSync(page, table);
const isCurrent = readFileSync(page, 'utf8') === table;
const failed = results.filter(({ outcome }) => outcome === 'lost' || outcome === 'failed');
for (const { client, feature, stream, detail } of failed) {
  process.stderr.write(`interop: ${client}, ${feature}${stream ? ', streamed' : ''}: ${detail}\n`);
}
if (!isCurrent) {
  process.stderr.write('interop: docs/interop.md is out of date; run: npm run interop -- --write\n');
}
process.stdout.write(`${results.length - failed.length} passed, ${failed.length} failed\n`);
process.exit(failed.length === 0 && isCurrent ? 0 : 1);

/** Runs the case at the vendor itself and through the platform. */
async function compared(one) {
  const vendor = vendors[one.vendor];
  const { run, ...head } = one;
  const direct = await bodyOf(vendor, () => run({ baseUrl: vendor.origin, key: 'direct' }));
  if (direct.error !== undefined)
    return { ...head, outcome: 'failed', detail: `at the vendor: ${direct.error}` };
  const through = await bodyOf(vendor, () => run(product));
  if (through.error !== undefined) {
    // A refusal that names the field is honest; anything else is a failure.
    const isNamed = through.status === 400;
    return { ...head, outcome: isNamed ? 'refused' : 'failed', detail: through.error };
  }
  const { lost, changed } = differences(direct.body, through.body);
  if (lost.length > 0) return { ...head, outcome: 'lost', detail: lost.join(', ') };
  if (changed.length > 0) return { ...head, outcome: 'lost', detail: changed.join(', ') };
  return { ...head, outcome: 'same', detail: '' };
}

function namesTool({ tool_choice: choice }) {
  return choice?.type === 'tool' || choice?.type === 'function';
}

/** The request that the vendor got from a run, or the error of the client. */
async function bodyOf(vendor, run) {
  vendor.forget();
  vendor.decide = ({ body }) => (namesTool(body) ? { toolCalls: [forcedCall] } : undefined);
  try {
    await run();
  } catch (error) {
    const status = error.status ?? error.statusCode ?? error.cause?.statusCode;
    return { error: `${status ?? ''} ${error.message}`.trim().slice(0, 300), status };
  }
  const seen = vendor.requests.at(-1);
  return seen === undefined ? { error: 'no request arrived at the vendor' } : { body: seen.body };
}

async function tried({ run, ...head }) {
  const at = { ...head, feature: `sim: ${head.feature}`, stream: head.stream ?? false };
  try {
    return (await run(product))
      ? { ...at, outcome: 'works', detail: '' }
      : { ...at, outcome: 'failed', detail: 'another answer was expected' };
  } catch (error) {
    return { ...at, outcome: 'failed', detail: String(error.message).slice(0, 300) };
  }
}
