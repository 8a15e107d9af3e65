// What strangers write is parsed in bounded time, or shown as it is. Both the console and the chat of pages rely on it.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';

type Parse = (text: string) => string | undefined;

const { boundedMarkdown, Marked } = await bundledModules<{
  readonly boundedMarkdown: (
    text: string,
    charactersMax: number,
    parse: (tokenizer: unknown) => string,
  ) => string | undefined;
  readonly Marked: new () => { parse(text: string, options: object): string };
}>('console/src/ui/bounded-markdown.ts', 'node_modules/marked/lib/marked.esm.js');

const charactersMax = 200_000;
const parsed: Parse = (text) =>
  boundedMarkdown(text, charactersMax, (tokenizer) =>
    new Marked().parse(text, { gfm: true, breaks: true, tokenizer }),
  );

/** To the length, in whole repetitions. */
const filled = (part: string, length: number): string => part.repeat(Math.floor(length / part.length));

const manuals = ['README.md', 'CHANGELOG.md', 'docs/errors.md', 'docs/fields.md', 'docs/interop.md']
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n\n');

const normal: Readonly<Record<string, string>> = {
  'the manuals': filled(manuals, charactersMax),
  'a dense paragraph': filled(
    'This is **bold** with `code`, a [link](https://a.example/x), _emphasis_, 5 * 3 and snake_case_name. ',
    8_000,
  ),
  'a log': filled('Nov 30 23:15:16 node-1 the service_name has *started*\n', 10_000),
  'plain lines': filled('Plain words that go on and on.\n', charactersMax),
  'a long list': filled('- **item** of the list with `code`\n', charactersMax),
  'a long table': `| a | b |\n|---|---|\n${filled('| item **x** | of the `list` |\n', charactersMax - 20)}`,
  'a long quotation': filled('> as you wrote, _this_ is quoted\n>\n', charactersMax),
  'quotations of quotations': `${'>'.repeat(20)} the first mail`,
  'a text without spaces': filled('这是一个没有空格的很长的段落。', 50_000),
  'a long address': `[here](https://a.example/?token=${'a1B2'.repeat(700)})`,
};

for (const [what, text] of Object.entries(normal)) {
  test(`markdown shows ${what}`, (t) => t.is(typeof parsed(text), 'string'));
}

const hostile: Readonly<Record<string, string>> = {
  'nested quotations': '>'.repeat(2_000),
  'nested lists': `${'- '.repeat(2_000)}x`,
  'emphasis that does not end': filled('_a*', 8_000),
  'long emphasis that does not end': filled('_a*', charactersMax),
  'addresses within emphasis': filled('**a@a.', charactersMax),
  'a long run of spaces': `]${' '.repeat(100_000)}`,
  'a long run of signs': `www.a.example${';'.repeat(100_000)}`,
  'a long word': 'a'.repeat(100_000),
  'an item of many lines': `- ]${filled('\n-)', 100_000)}`,
  'a wide table of short rows': `${filled('|a', 4_000)}|\n${filled('|-', 4_000)}|\n${filled('a\n', 4_000)}`,
  'a long address that is used often': `[a]: http://a.example/${filled('a/', 3_000)}\n\n${filled('- [a]\n', 100_000)}`,
};

for (const [what, text] of Object.entries(hostile)) {
  test(`markdown with ${what} is left as it is`, (t) => t.is(parsed(text), undefined));
}
