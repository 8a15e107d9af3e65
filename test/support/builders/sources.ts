import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export interface Source {
  /** From the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Project files that it imports, as paths like its own. */
  readonly imports: readonly string[];
  /** Packages that it imports. */
  readonly packages: readonly string[];
}

/** The TypeScript sources of the given folders, with their imports. */
export function readSources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts') && !name.includes('node_modules'))
      .map((name) => readSource(join(folder, name))),
  );
}

function readSource(path: string): Source {
  const text = readFileSync(path, 'utf8');
  const specifiers = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
    ),
  ].map(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? '');
  const own = specifiers.filter((specifier) => specifier.startsWith('.'));
  return {
    path,
    text,
    imports: own.map((specifier) => relative('.', resolve(dirname(path), specifier)).replace(/\.js$/, '.ts')),
    packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
  };
}
