import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export interface Source {
  /** From the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Project files that it imports, as paths like its own. */
  readonly imports: readonly string[];
  /** Those of them that are loaded when they are needed. */
  readonly lazyImports: readonly string[];
  /** Those of them that are loaded with it: neither later nor only for their types. */
  readonly eagerImports: readonly string[];
  /** Packages that it imports. */
  readonly packages: readonly string[];
}

/** The TypeScript sources of the given folders, with their imports. */
export function readSources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts') && !name.includes('node_modules'))
      .map((name) => readSource(join(folder, name))),
  );
}

function readSource(path: string): Source {
  const text = readFileSync(path, 'utf8');
  const matches = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
    ),
  ];
  const specifiers = matches.map(([, from, lazy, bare]) => from ?? lazy ?? bare ?? '');
  const eager = matches.flatMap(([statement, from, , bare]) =>
    /^\s*(?:import|export) type\b/.test(statement) ? [] : [from ?? bare ?? ''],
  );
  const isOwn = (specifier: string): boolean => specifier.startsWith('.');
  const fileOf = (specifier: string): string => sourceAt(relative('.', resolve(dirname(path), specifier)));
  return {
    path,
    text,
    imports: specifiers.filter(isOwn).map(fileOf),
    lazyImports: matches.flatMap(([, , lazy]) => (lazy !== undefined && isOwn(lazy) ? [fileOf(lazy)] : [])),
    eagerImports: eager.filter(isOwn).map(fileOf),
    packages: specifiers.filter((specifier) => !isOwn(specifier)),
  };
}

/** Node names the compiled file; what Vite bundles names no ending. */
function sourceAt(path: string): string {
  const bundled = [`${path}.ts`, `${path}.tsx`].find((name) => existsSync(name));
  return bundled ?? path.replace(/\.js$/, '.ts');
}
