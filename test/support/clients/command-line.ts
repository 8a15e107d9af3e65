// `troupe` as a developer runs it against a node: with a key, and a configuration folder of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TenantNode } from '../servers/node.js';
import { runProgram } from '../servers/program.js';

export interface CommandLine {
  readonly folder: string;
  /** Runs to the end; throws if the exit code is another one. */
  run(words: readonly string[], options?: { readonly code?: number }): Promise<string>;
  /** The same without a key in the environment. */
  signedIn(words: readonly string[], options?: { readonly code?: number }): Promise<string>;
}

export async function commandLine(
  t: { teardown(fn: () => Promise<void>): void },
  { client, bootstrap }: TenantNode,
  more: Readonly<Record<string, string>> = {},
): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-commands-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const bare = { XDG_CONFIG_HOME: folder, TROUPE_DATA_DIR: join(folder, 'none'), ...more };
  const withKey = { ...bare, TROUPE_BASE_URL: client.baseUrl, TROUPE_API_KEY: bootstrap.api_key };
  const runWith =
    (environment: Readonly<Record<string, string>>) =>
    async (words: readonly string[], { code = 0 }: { readonly code?: number } = {}): Promise<string> => {
      const program = runProgram('bin/troupe.mjs', words, environment);
      const ended = await program.ended;
      if (ended !== code) throw new Error(`troupe ${words.join(' ')}: exit ${ended}\n${program.output()}`);
      return program.output();
    };
  return { folder, run: runWith(withKey), signedIn: runWith(bare) };
}
