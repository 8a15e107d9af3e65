import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { sharedNode } from '../../support/servers/shared-node.js';

const shared = sharedNode(test);

/** The blocks of the README in a language, without the ones that need a server of the reader. */
function blocks(language: string): string[] {
  const text = readFileSync('client/README.md', 'utf8');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, code = '']) => code);
}

async function outputOf(program: string, args: string[], env: Record<string, string>): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...env } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += String(bytes)));
  const [code] = await new Promise<[number | null]>((resolve) =>
    child.on('close', (ended) => resolve([ended])),
  );
  if (code !== 0) throw new Error(`exit ${code}: ${text}`);
  return text;
}

test('the first examples of the README run as they stand', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const [first = '', lists = ''] = blocks('js');
  const output = await outputOf(process.execPath, ['--input-type=module', '--eval', `${first}\n${lists}`], {
    TROUPE_BASE_URL: client.baseUrl,
    TROUPE_API_KEY: bootstrap.api_key,
  });
  t.true(output.startsWith('echo: What are actors?\n'), output);
  const ids = output.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g);
  t.is(ids?.length, 2, 'the execution, and the session that it made');
});

test('the lines for curl run as they stand', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const [lines = ''] = blocks('sh');
  const [chat = '', follow = ''] = lines.split(/\n(?=curl)/);
  const env = {
    TROUPE_BASE_URL: client.baseUrl,
    TROUPE_API_KEY: bootstrap.api_key,
    AGENT: bootstrap.agent_id,
  };
  const told = await outputOf('sh', ['-c', chat], env);
  t.regex(told, /"outcome":"COMPLETED"/);
  const [, id = ''] = /"execution_id":"([^"]+)"/.exec(told) ?? [];
  t.regex(await outputOf('sh', ['-c', follow], { ...env, EXECUTION: id }), /"outcome":"COMPLETED"/);
});
