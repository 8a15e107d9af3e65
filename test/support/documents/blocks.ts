// The fenced blocks of the project's pages. The words after the language say how the tests treat a block:
//
//   none                  it is run, or checked as its language allows
//   continues             JavaScript that goes on with the block before
//   exit=3                it ends with this code
//   from=src/some/file    an excerpt of that file, in order, shortened at lines of "// …"
//   is=MailConfig         JSON in the form of this schema of docs/openapi.json, or of a file of settings
//   run, start            a test file that names the page runs it, or starts its node with these settings
//   tested-by=test/…      that test file runs the same
//   not-run=docker        not run, for the reason in site/reasons.json
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  /** The words after the language; a word without a value has `''`. */
  readonly words: Readonly<Record<string, string>>;
  readonly text: string;
}

const alone = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'client/README.md',
  'cluster/README.md',
  'console/README.md',
  'bench/README.md',
  'migrations/README.md',
];

/** Every page of the site. */
export function pagesWithBlocks(): readonly string[] {
  const folders = ['docs', 'examples'].filter((folder) => existsSync(folder));
  const below = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const pages = below.filter((name) => name.endsWith('.md') && !name.includes('node_modules'));
  return [...alone.filter((page) => existsSync(page)), ...pages].toSorted();
}

export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^( *)```(.*)\n([^]*?)^ *```$/gm)].map(
    ({ index, 1: indent, 2: info, 3: body }) => {
      const [language = '', ...words] = (info ?? '').trim().split(/\s+/);
      return {
        page,
        line: text.slice(0, index).split('\n').length,
        language,
        words: Object.fromEntries(words.map(nameAndValue)),
        text: (body ?? '').replaceAll(new RegExp(`^ {0,${(indent ?? '').length}}`, 'gm'), ''),
      };
    },
  );
}

function nameAndValue(word: string): [string, string] {
  const at = word.indexOf('=');
  return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)];
}

/** Lines of an excerpt that the file does not have in this order; without "// …" they follow each other in it. */
export function missingIn(file: string, excerpt: string): readonly string[] {
  const lines = bareLines(file);
  const parts = excerpt.split(/^ *\/\/ …$/m).map(bareLines);
  let at = 0;
  for (const part of parts) {
    const found = lines.findIndex(
      (_line, index) => index >= at && part.every((line, i) => lines[index + i] === line),
    );
    if (found < 0) return part;
    at = found + part.length;
  }
  return [];
}

function bareLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
