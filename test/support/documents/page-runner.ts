// Runs the commands and programs of a page in their order, as a reader who follows it: in one shell, in one folder.
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TenantNode } from '../servers/node.js';
import { runCommand } from '../servers/program.js';
import type { Block } from './blocks.js';

/** The address that pages name; the node of the tests listens elsewhere. */
const named = 'http://127.0.0.1:8080';
const root = resolve('.');

interface AtEnd {
  teardown(fn: () => Promise<void>): void;
}

/** What it printed. Throws with the line of the block that failed. */
export async function runPage(
  t: AtEnd,
  { client, bootstrap }: TenantNode,
  blocks: readonly Block[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-page-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await readersFolder(folder, bootstrap);
  const parts: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const text = block.text.replaceAll(named, client.baseUrl);
    parts.push(`echo "== ${block.page}:${block.line}"`, await part(folder, index, { ...block, text }));
  }
  await writeFile(join(folder, 'page.sh'), `set -euo pipefail\n${parts.join('\n')}\n`);
  const program = runCommand('bash', ['-c', `cd ${folder} && bash page.sh`], {
    PATH: `${join(folder, 'programs')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    BASE_URL: client.baseUrl,
    TROUPE_BASE_URL: client.baseUrl,
    TROUPE_API_KEY: bootstrap.api_key,
    ACCESS_TOKEN: bootstrap.access_token,
    TENANT_ID: bootstrap.tenant_id,
    AGENT_ID: bootstrap.agent_id,
    AGENT: bootstrap.agent_id,
    ...environment,
  });
  const code = await program.ended;
  if (code !== 0) throw new Error(`a block failed (${code}), the last one named here:\n${program.output()}`);
  return program.output();
}

async function part(folder: string, index: number, { language, words, text }: Block): Promise<string> {
  const name = /^(?:#|\/\/) ([\w-]+\.\w+)/.exec(text)?.[1];
  if (name !== undefined) await writeFile(join(folder, name), text);
  switch (language) {
    case 'sh': {
      const { exit } = words;
      return exit === undefined ? text : `code=0; ( ${text}\n) || code=$?; [ "$code" = ${exit} ]`;
    }
    case 'js':
      await writeFile(join(folder, `${index}.mjs`), text);
      return `node ${index}.mjs`;
    case 'python':
      await writeFile(join(folder, `${index}.py`), text);
      return `python3 ${index}.py`;
    default:
      return ':';
  }
}

/** What a reader has: the packages, the commands, the scripts, and what `npm start` leaves. */
async function readersFolder(folder: string, bootstrap: object): Promise<void> {
  await mkdir(join(folder, '.troupe'));
  await writeFile(join(folder, '.troupe/bootstrap.json'), JSON.stringify(bootstrap));
  await mkdir(join(folder, 'node_modules/@troupe'), { recursive: true });
  for (const [name, target] of [
    ['troupe', root],
    ['@troupe/client', join(root, 'client')],
    ['openai', join(root, 'node_modules/openai')],
    ['@anthropic-ai', join(root, 'node_modules/@anthropic-ai')],
  ] as const) {
    await symlink(target, join(folder, 'node_modules', name));
  }
  await symlink(join(root, 'scripts'), join(folder, 'scripts'));
  await mkdir(join(folder, 'programs'));
  const troupe = `exec node '${root}/bin/troupe.mjs' "$@"`;
  const programs = {
    troupe,
    npx: `[ "$1" = troupe ] || exit 127; shift; ${troupe}`,
    npm: `[ "$*" = start ] || exit 127; exec node '${root}/bin/start.mjs'`,
    // A refusal fails the page.
    curl: `PATH="\${PATH#*:}" exec curl --fail-with-body "$@"`,
  };
  for (const [name, script] of Object.entries(programs)) {
    const path = join(folder, 'programs', name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  }
}
