import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { installedProgram } from '../support/servers/installed-program.js';
import { runProgram } from '../support/servers/program.js';

const execute = promisify(execFile);

/** A shell of Debian, which the tests install as they do Redis. */
function shell(name: string): string {
  const advice = `The tests try the completions in ${name}: install it (Debian, Ubuntu: apt-get install ${name}).`;
  return installedProgram({ names: [name], debianPackage: name, advice });
}

async function scriptOf(name: string): Promise<string> {
  const program = runProgram('bin/troupe.mjs', ['completion', name], {});
  if ((await program.ended) !== 0) throw new Error(program.output());
  return program.output();
}

async function folderFor(t: { teardown(fn: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-completions-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What is offered for a line, whose last word is not finished. */
const offers: readonly (readonly [line: readonly string[], offered: readonly string[]])[] = [
  [['tena'], ['tenants']],
  [['sessions', 'mess'], ['messages']],
  [['apply', '--rot'], ['--rotate-secrets']],
  [['keys', 'rev'], ['revoke']],
  [['keys', 'create', '--expires'], ['--expires-in-days']],
  [['doctor', '--v'], ['--vendors']],
  [['completion', 'z'], ['zsh']],
];

test('bash offers commands, actions and options', async (t) => {
  const script = await scriptOf('bash');
  for (const [line, offered] of offers) {
    const words = ['troupe', ...line].map((word) => `'${word}'`).join(' ');
    const asked = `${script}\nCOMP_WORDS=(${words}); COMP_CWORD=${line.length}; _troupe; echo "\${COMPREPLY[@]}"`;
    t.deepEqual(execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim().split(' '), offered);
  }
});

test('zsh offers them at the first key, from a file of fpath', async (t) => {
  const folder = await folderFor(t);
  await writeFile(join(folder, '_troupe'), await scriptOf('zsh'));
  for (const [line, offered] of offers) {
    // Completion's own functions work only under a key press: these print what they are given.
    const asked = `
      compadd() { shift; print -rl -- "$@" }
      _describe() { print -rl -- "\${(@P)2%%:*}" }
      _files() { : }
      fpath=(${folder} $fpath)
      autoload -Uz _troupe
      words=(troupe ${line.join(' ')}); CURRENT=${line.length + 1}
      _troupe`;
    const { stdout } = await execute(shell('zsh'), ['-f', '-c', asked]);
    const last = line.at(-1) ?? '';
    t.deepEqual(
      stdout.split('\n').filter((word) => word.startsWith(last) && word !== ''),
      offered,
    );
  }
  // With `source`, the shell is told of the function.
  const sourced = `compdef() { print -r -- "$@" }; source ${folder}/_troupe`;
  const { stdout } = await execute(shell('zsh'), ['-f', '-c', sourced]);
  t.is(stdout, '_troupe troupe\n');
});

test('fish offers them', async (t) => {
  const folder = await folderFor(t);
  await writeFile(join(folder, 'troupe.fish'), await scriptOf('fish'));
  for (const [line, offered] of offers) {
    const asked = `source ${folder}/troupe.fish; complete -C 'troupe ${line.join(' ')}'`;
    const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    const { stdout } = await execute(shell('fish'), ['--no-config', '-c', asked], { env });
    const words = stdout
      .trim()
      .split('\n')
      .map((one) => one.split('\t')[0] ?? '');
    t.deepEqual(words, offered);
  }
});
