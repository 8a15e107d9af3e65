// The examples as their pages tell a reader to run them: every command is read from the page, and what the page says
// comes out. The ports of the stand-ins are those of the pages, so the tests follow each other.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import { createEmptyDatabase } from '../support/database/database.js';
import { sharedNode } from '../support/servers/shared-node.js';
import type { TenantNode } from '../support/servers/node.js';

const execute = promisify(execFile);
const folders = readdirSync('examples', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

interface Page {
  /** The variables with which the page starts its node. */
  readonly settings: Readonly<Record<string, string>>;
  readonly commands: readonly string[];
  /** Lines, or the beginnings of lines, that the page promises. */
  readonly promised: readonly string[];
}

function pageOf(folder: string): Page {
  const text = readFileSync(`examples/${folder}/README.md`, 'utf8');
  const blocks = (kind: string): readonly string[] =>
    [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].flatMap(([, name, block = '']) =>
      name === kind ? [block] : [],
    );
  const [start = ''] = blocks('sh start');
  if (!start.trimEnd().endsWith('npm start')) throw new Error(`${folder}: the page does not start a node`);
  const settings = [...start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
  return {
    settings: Object.fromEntries(settings) as Record<string, string>,
    commands: blocks('sh run'),
    promised: blocks('text').flatMap((block) => block.split('\n').filter((line) => line !== '')),
  };
}

// One node with the settings of all pages.
const shared = sharedNode(test, () => ({
  environment: Object.assign({}, ...folders.map((folder) => pageOf(folder).settings)) as Record<
    string,
    string
  >,
}));

/** Runs the commands of the page, and returns what they print. */
async function follow(
  folder: string,
  { client, bootstrap }: TenantNode,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const printed: string[] = [];
  for (const script of pageOf(folder).commands) {
    const { stdout, stderr } = await execute('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      timeout: 200_000,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        TROUPE_BASE_URL: client.baseUrl,
        TROUPE_API_KEY: bootstrap.api_key,
        ...more,
      },
    });
    printed.push(stdout, stderr);
  }
  return printed.join('');
}

const databases: Readonly<Record<string, string>> = { 'nightly-report': 'SHOP_DATABASE_URL' };

for (const folder of folders) {
  test.serial(`the example ${folder} does what its page says`, async (t) => {
    t.timeout(300_000);
    const node = await shared.tenant(t);
    const variable = databases[folder];
    const more = variable === undefined ? {} : { [variable]: (await createEmptyDatabase(t)).url };
    const printed = await follow(folder, node, more);
    for (const line of pageOf(folder).promised)
      t.true(printed.includes(line), `${line}\n\nis not in\n\n${printed}`);
    t.true(pageOf(folder).promised.length > 0);
    if (folder === 'whatsapp-burst') {
      const { json } = await node.client.call('GET', '/api/v1/executions', { key: node.bootstrap.api_key });
      t.is(json.count, 1, 'three messages are one turn');
    }
    if (folder === 'approved-refund') t.is(printed.split('the bank pays:').length, 2, 'one refund is paid');
  });
}

test('the list of the examples names each folder once, and each has a page', (t) => {
  const list = readFileSync('examples/README.md', 'utf8');
  const named = [...list.matchAll(/\]\(([\w-]+)\/README\.md\)/g)].map(([, name]) => name);
  t.is(named.length, folders.length);
  for (const folder of folders) t.true(named.includes(folder), folder);
  t.true(folders.every((folder) => existsSync(`examples/${folder}/README.md`)));
});
