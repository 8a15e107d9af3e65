// Finds the names of tables, views and functions in SQL text. The text may be a part of a statement, as programs join
// them: a gap in a template is written as `${}`.

export interface SqlName {
  readonly name: string;
  /**
   * `row`: rows are read or written. `call`: a function. `reference`: a foreign key, or the table of a trigger. `gap`: a
   * relation that the text leaves open.
   */
  readonly use: 'row' | 'call' | 'reference' | 'gap';
}

const token = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$\{\}|\$\w*\$|::|[a-z_]\w*|\S/gi;

/** Words after which a relation follows. */
const before = new Set([
  'from',
  'join',
  'using',
  'into',
  'update',
  'table',
  'truncate',
  'lock',
  'copy',
  'references',
  'on',
  'setof',
  '::',
]);
/** Words that may occur between such a word and the relation. */
const between = new Set(['only', 'lateral', 'table', 'if', 'not', 'exists', 'concurrently', 'rows']);
/** Words that begin a list of relations, and those that end it. */
const listBegins = new Set(['from', 'using', 'truncate', 'lock']);
const listEnds = new Set(
  'where group order limit having union intersect except returning set select for window offset values do ;'.split(
    ' ',
  ),
);
/** Words after which nothing but a relation follows. */
const opensRelation = new Set(['from', 'join', 'into', 'update']);
/** Words after which a name with a parenthesis is a relation with columns, not a function. */
const withColumns = new Set(['into', 'table', 'references', 'on', 'copy']);

export function sqlNames(text: string): readonly SqlName[] {
  const tokens = tokensOf(text);
  const found: SqlName[] = [];
  const inList = [false];
  // Error messages have gaps too.
  const isStatement = ['select', 'insert', 'delete', 'set'].some((word) => tokens.includes(word));
  let isTrigger = false;
  const relationAt = (index: number, keyword: string): void => {
    let at = index;
    while (between.has(tokens[at] ?? '')) at += 1;
    if (tokens[at] === '${}' && isStatement && opensRelation.has(keyword))
      found.push({ name: '', use: 'gap' });
    const { name, next } = nameAt(tokens, at);
    if (name === undefined || (tokens[next] === '(' && !withColumns.has(keyword))) return;
    // `on calls.id = …` is the condition of a join.
    if (keyword === 'on' && next > at + 1 && tokens[at] !== 'public') return;
    const isReference = keyword === 'references' || (keyword === 'on' && isTrigger);
    found.push({ name, use: isReference ? 'reference' : 'row' });
  };
  for (const [index, word] of tokens.entries()) {
    const previous = tokens[index - 1];
    if (word === '(') inList.push(false);
    else if (word === ')' && inList.length > 1) inList.pop();
    else if (word.startsWith("'")) found.push(...namesInText(word));
    if (word === ';') isTrigger = false;
    if (word === 'trigger') isTrigger = true;
    if (listEnds.has(word)) inList[inList.length - 1] = false;
    if (tokens[index + 1] === '(' && isName(word) && previous !== '.' && !withColumns.has(previous ?? ''))
      found.push({ name: word, use: 'call' });
    if (word === ',' && inList.at(-1) === true) relationAt(index + 1, ',');
    if (word === 'of' && previous === 'partition') relationAt(index + 1, word);
    if (!before.has(word) || (word === 'from' && previous === 'distinct')) continue;
    if (listBegins.has(word)) inList[inList.length - 1] = true;
    relationAt(index + 1, word);
  }
  return found;
}

/** Dynamic SQL, and `'calls'::regclass`. */
function namesInText(quoted: string): readonly SqlName[] {
  const text = quoted.slice(1, -1).replaceAll("''", "'");
  return /^[a-z_.]+$/.test(text)
    ? [{ name: text.replace(/^public\./, ''), use: 'row' }]
    : sqlNames(text.replaceAll(/%[IL]/g, '${}'));
}

function tokensOf(text: string): readonly string[] {
  return [...text.matchAll(token)]
    .map(([word]) => (word.startsWith("'") ? word : word.toLowerCase()))
    .filter((word) => !word.startsWith('--') && !word.startsWith('/*') && !/^\$\w*\$$/.test(word));
}

/** A name with its schema; `public` is left out. */
function nameAt(tokens: readonly string[], at: number): { readonly name?: string; readonly next: number } {
  const first = plain(tokens[at]);
  if (first === undefined) return { next: at };
  const second = tokens[at + 1] === '.' ? plain(tokens[at + 2]) : undefined;
  if (second === undefined) return { name: first, next: at + 1 };
  return { name: first === 'public' ? second : `${first}.${second}`, next: at + 3 };
}

function plain(word: string | undefined): string | undefined {
  if (word === undefined) return undefined;
  if (word.startsWith('"')) return word.slice(1, -1);
  return isName(word) ? word : undefined;
}

function isName(word: string): boolean {
  return /^[a-z_]\w*$/.test(word);
}
