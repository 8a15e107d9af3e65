// Every block of the documentation is run or checked; what cannot be run here says why, in the page and in this test's log.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import test from 'ava';
import { parse } from 'yaml';
import { builtInModels } from '../../src/llm/index.js';
import { parseVendorsFile, type Reference } from '../../src/llm/catalogue/vendors-file.js';
import { type Block, blocksOf, missingIn, pagesWithBlocks } from '../support/documents/blocks.js';
import { eventually } from '../support/clocks/eventually.js';
import { runPage } from '../support/documents/page-runner.js';
import { CuttingProxy } from '../support/servers/cutting-proxy.js';
import { runCommand } from '../support/servers/program.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ServiceAccount } from '../support/servers/vendors/vertex-server.js';

const shared = sharedNode(test);
const blocks = pagesWithBlocks().flatMap(blocksOf);
const reasons = JSON.parse(readFileSync('site/reasons.json', 'utf8')) as Readonly<Record<string, string>>;
const languages = ['mermaid', 'text', 'html', 'sh', 'js', 'ts', 'tsx', 'python', 'json', 'yaml'];
const runnable = ['sh', 'js', 'python', 'yaml'];
const knownWords = ['continues', 'exit', 'from', 'is', 'run', 'start', 'tested-by', 'not-run'];

/** What a reader of a page has besides an installation. */
const environments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/guides/answer-on-twilio.md': { ACCOUNT_SID: 'AC1', AUTH_TOKEN: 'token' },
};

/** What the commands of a page print. Every other page only has to succeed. */
const printed: Readonly<Record<string, readonly RegExp[]>> = {
  'README.md': [/"chunk":" Troupe!"/, /echo: Hello! echo: Hello!/, /"outcome":"COMPLETED"/, /type: 'done'/],
  'docs/start.md': [/"chunk":" Troupe!"/, /"content":"What do you remember\?"[^]*"content":"And now\?"/],
  'docs/guides/use-from-python.md': [/^echo: What are actors\?$/m, /X-Webhook-Signature/],
  'docs/guides/declare-agents-in-files.md': [/create agent support/, /Nothing changes\.\n$/],
  'docs/guides/add-a-setting.md': [
    /TROUPE_SANDBOX_PROCESSES=4/,
    /must be a whole number/,
    /Did you mean TROUPE_SANDBOX_PROCESSES\?/,
  ],
  'docs/guides/plan-capacity.md': [/^nodes +3 of 2 cores/m],
  'client/README.md': [
    /^echo: What are actors\?\n[0-9a-f-]{36}\n[0-9a-f-]{36}$/m,
    /"outcome":"COMPLETED"[^]*"outcome":"COMPLETED"/,
  ],
  'cluster/README.md': [/\{ sum: 6 \}/],
};

const at = ({ page, line }: Block): string => `${page}:${line}`;
const isOfOwnTest = ({ words }: Block): boolean => 'run' in words || 'start' in words;
const isRunHere = (block: Block): boolean =>
  runnable.includes(block.language) &&
  !isOfOwnTest(block) &&
  !['tested-by', 'not-run'].some((word) => word in block.words);
const isProgram = (block: Block): boolean => isRunHere(block) && block.language !== 'yaml';

test('each block has a language and words that the tests know; what is not run has a reason', (t) => {
  for (const block of blocks) {
    t.true(languages.includes(block.language), `${at(block)}: language "${block.language}"`);
    for (const word of Object.keys(block.words))
      t.true(knownWords.includes(word), `${at(block)}: word "${word}"`);
    const { 'not-run': reason, 'tested-by': file } = block.words;
    if (reason !== undefined) {
      t.true(Object.hasOwn(reasons, reason), `${at(block)}: no reason "${reason}" in site/reasons.json`);
      t.log(`not run: ${at(block)}: ${reasons[reason]}`);
    }
    if (file !== undefined) t.true(existsSync(file), `${at(block)}: there is no ${file}`);
  }
  const used = new Set(blocks.map(({ words }) => words['not-run']));
  t.deepEqual(
    Object.keys(reasons).filter((reason) => !used.has(reason)),
    [],
    'reasons that no block has',
  );
  t.true(blocks.length > 60, `${blocks.length} blocks`);
});

test('a block that a test of its own runs belongs to a page that the test names', (t) => {
  const tests = readdirSync('test/e2e', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('documentation'))
    .map((name) => readFileSync(join('test/e2e', name), 'utf8'))
    .filter((text) => text.includes('sh run'));
  for (const block of blocks.filter(isOfOwnTest)) {
    const name = block.page.replace(/\.md$/, '').replace(/^.*\//, '');
    const names = block.page.startsWith('examples/')
      ? ["readdirSync('examples'"]
      : [`'${name}'`, `${name}.md`];
    t.true(
      tests.some((text) => names.some((named) => text.includes(named))),
      `${at(block)}: no test follows ${name}`,
    );
  }
});

test('excerpts are in the files that they are of', (t) => {
  const excerpts = blocks.filter(({ words }) => 'from' in words);
  t.true(excerpts.length > 8);
  for (const block of excerpts) {
    const missing = missingIn(readFileSync(block.words['from'] ?? '', 'utf8'), block.text);
    t.deepEqual(missing, [], `${at(block)}: ${block.words['from']} has no such lines`);
  }
});

test('JSON and YAML can be read, and have the form that their block names', (t) => {
  const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as object;
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  ajv.addSchema(document, 'document');
  for (const block of blocks) {
    if (block.language === 'yaml') t.notThrows(() => void parse(block.text), at(block));
    if (block.language !== 'json') continue;
    const value: unknown = JSON.parse(block.text);
    const { is } = block.words;
    if (is === 'vendors-file') {
      const parts = { known: builtInModels(), resolve: exampleSecret };
      t.notThrows(() => parseVendorsFile(at(block), block.text, parts), at(block));
    } else if (is !== undefined) {
      const validate = ajv.getSchema(`document#/components/schemas/${is}`);
      t.true(validate?.(value), `${at(block)}: ${ajv.errorsText(validate?.errors)}`);
    }
  }
});

const account = new ServiceAccount().keyFile('https://oauth2.example/token');

function exampleSecret(reference: Reference) {
  const isAccount = 'file' in reference && reference.file.includes('service-account');
  return { place: 'the example', reveal: () => (isAccount ? account : 'secret') };
}

test('TypeScript of a page compiles against the types of the package', async (t) => {
  const own = blocks.filter(({ language, words }) => language === 'ts' && Object.keys(words).length === 0);
  t.true(own.length > 0);
  // Inside of the project, so that the package finds itself.
  const folder = await mkdtemp(join('dist', 'pages-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const files = own.map((_block, index) => join(folder, `${index}.mts`));
  for (const [index, { text }] of own.entries()) await writeFile(files[index] ?? '', text);
  const flags =
    '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023 --types node'.split(
      ' ',
    );
  const tsc = runCommand('node', ['node_modules/typescript/bin/tsc', ...flags, ...files], {});
  t.is(await tsc.ended, 0, `${own.map(at).join(', ')}: ${tsc.output()}`);
});

for (const page of new Set(blocks.filter(isProgram).map(({ page: name }) => name))) {
  test.serial(`the commands and programs of ${page} run in their order`, async (t) => {
    t.timeout(240_000);
    const python = await hasPython();
    const here = blocks.filter((block) => block.page === page && isRunHere(block));
    const left = here.filter(({ language }) => language !== 'python' || python);
    if (left.length < here.length)
      t.log(`not run: the programs of ${page} in Python, which is not installed`);
    const output = await runPage(t, await shared.tenant(t), joined(left), environments[page] ?? {});
    t.false(output.includes('"type":"error"'), output);
    const expected = left.length === here.length ? (printed[page] ?? []) : [];
    for (const pattern of expected) t.regex(output, pattern);
  });
}

test('the program in Python goes on after a lost connection, and prints each word once', async (t) => {
  t.timeout(240_000);
  if (!(await hasPython())) {
    t.log('not run: Python is not installed');
    t.pass();
    return;
  }
  const node = await shared.tenant(t);
  const proxy = await CuttingProxy.before(node.client.baseUrl, (connection) =>
    connection < 3 ? { events: 3, bytes: 9 } : undefined,
  );
  t.teardown(() => proxy.close());
  const page = blocks.filter((block) => block.page === 'docs/guides/use-from-python.md' && isRunHere(block));
  let output: string | undefined;
  const ended = runPage(t, node, page.slice(0, 1), { TROUPE_BASE_URL: proxy.url }).then(
    (text) => (output = text),
  );
  await Promise.race([
    ended,
    eventually(
      () => {
        proxy.cut();
        return output !== undefined;
      },
      { timeoutMs: 120_000 },
    ),
  ]);
  t.regex(await ended, /^echo: What are actors\?$/m);
  t.is(proxy.connections, 3);
});

/** Nothing is left out where changes are judged. */
async function hasPython(): Promise<boolean> {
  const has = (await runCommand('python3', ['--version'], {}).ended.catch(() => 'missing')) === 0;
  if (!has && process.env['CI'] !== undefined)
    throw new Error('python3 is missing, and the variable CI is set: install Python');
  return has;
}

/** A program that goes on with the one before is one program with it. */
function joined(parts: readonly Block[]): readonly Block[] {
  return parts.reduce<readonly Block[]>((before, block) => {
    const last = before.at(-1);
    if (last === undefined || !('continues' in block.words)) return [...before, block];
    return [...before.slice(0, -1), { ...last, text: `${last.text}\n${block.text}` }];
  }, []);
}

test('an excerpt that is not in its file, or not in its order, is found', (t) => {
  const file = 'one\n  two\nthree\nfour\n';
  t.deepEqual(missingIn(file, 'one\ntwo\n'), []);
  t.deepEqual(missingIn(file, 'one\n// …\nfour\n'), []);
  t.deepEqual(missingIn(file, 'one\nthree\n'), ['one', 'three']);
  t.deepEqual(missingIn(file, 'three\n// …\none\n'), ['one']);
});
