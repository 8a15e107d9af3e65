import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mutate, type Mutant } from './mutant.js';

/** What runs, or is read at run time from beside the built files. */
const copied = ['dist', 'bin', 'cluster', 'migrations', 'package.json'];
const linked = ['node_modules', 'docs', 'generated', 'proto', 'scripts', 'src', 'test'];

/** A copy of the built project, in which one file at a time is mutated. */
export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'troupe-mutants-'));
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    for (const name of copied) cpSync(join(root, name), join(this.folder, name), { recursive: true });
    for (const name of linked) symlinkSync(join(root, name), join(this.folder, name));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Returns what restores the file. */
  async apply(mutant: Mutant): Promise<() => void> {
    const { file } = mutant;
    const mutated = mutate(readFileSync(join(this.#root, file), 'utf8'), mutant);
    // Scripts of Redis are read as they are.
    const built = file.endsWith('.ts') ? join('dist', file.replace(/\.ts$/, '.js')) : file;
    const target = join(this.folder, built);
    writeFileSync(target, file.endsWith('.ts') ? await this.#compile(mutant, mutated) : mutated);
    return () => cpSync(join(this.#root, built), target);
  }

  /** Types are not checked: the compiler is not what is to notice a mutant. */
  async #compile({ id, file }: Mutant, text: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-mutant-'));
    try {
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'mutant.ts'), text);
      const compiler = join(this.#root, 'node_modules/typescript/bin/tsc');
      const options = [
        '--ignoreConfig',
        '--noCheck',
        '--noResolve',
        '--target',
        'es2023',
        '--module',
        'nodenext',
      ];
      await promisify(execFile)(process.execPath, [compiler, ...options, 'mutant.ts'], { cwd: folder });
      return readFileSync(join(folder, 'mutant.js'), 'utf8');
    } catch (error) {
      throw new Error(`mutant ${id} of ${file} does not compile`, { cause: error });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
