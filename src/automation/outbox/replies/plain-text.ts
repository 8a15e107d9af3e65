import { lexer, type Token, type Tokens } from 'marked';

/** Deeper nesting is never intended; such parts stay as written. */
const depthMax = 32;

/**
 * Converts Markdown to plain text for channels that do not render it: removes the marks, keeps list signs and link
 * addresses.
 */
export function plainText(markdown: string): string {
  try {
    return blocks(lexer(markdown), 0).trim();
  } catch (error) {
    // The parser is recursive: thousands of nested quotes overflow the stack and stay as written.
    if (error instanceof RangeError) return markdown;
    throw error;
  }
}

function blocks(tokens: readonly Token[], depth: number): string {
  return tokens
    .map((token) => block(token, depth))
    .filter((text) => text !== '')
    .join('\n\n');
}

function block(token: Token, depth: number): string {
  if (depth > depthMax) return token.raw;
  switch (token.type) {
    case 'space':
    case 'hr':
    case 'def':
      return '';
    case 'code':
      return (token as Tokens.Code).text;
    case 'list':
      return list(token as Tokens.List, depth);
    case 'blockquote':
      return blocks((token as Tokens.Blockquote).tokens, depth + 1);
    case 'table':
      return table(token as Tokens.Table, depth);
    case 'html':
      return withoutTags((token as Tokens.HTML).text).trim();
    default:
      return inline(token, depth);
  }
}

function list({ items, ordered, start }: Tokens.List, depth: number): string {
  return items
    .map((item, index) => {
      const sign = ordered ? `${(start === '' ? 1 : start) + index}.` : '-';
      const text = item.tokens.map((token) => block(token, depth + 1)).filter((part) => part !== '');
      return `${sign} ${text.join('\n').replaceAll('\n', '\n  ')}`;
    })
    .join('\n');
}

function table({ header, rows }: Tokens.Table, depth: number): string {
  return [header, ...rows]
    .map((cells) => cells.map(({ tokens }) => inlines(tokens, depth + 1)).join(' | '))
    .join('\n');
}

function inlines(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => inline(token, depth)).join('');
}

function inline(token: Token, depth: number): string {
  if (depth > depthMax) return token.raw;
  switch (token.type) {
    case 'br':
      return '\n';
    case 'codespan':
    case 'escape':
      return (token as Tokens.Codespan).text;
    case 'html':
      return withoutTags((token as Tokens.Tag).text);
    case 'image':
      return linked((token as Tokens.Image).text, (token as Tokens.Image).href);
    case 'link': {
      const { tokens, href } = token as Tokens.Link;
      return linked(inlines(tokens, depth + 1), href);
    }
    default: {
      const inner = 'tokens' in token ? token.tokens : undefined;
      if (inner !== undefined) return inlines(inner, depth + 1);
      return 'text' in token && typeof token.text === 'string' ? token.text : token.raw;
    }
  }
}

/** The address is shown because plain text has no clickable links. */
function linked(text: string, href: string): string {
  if (text === '' || text === href || href === `mailto:${text}`) return text === '' ? href : text;
  return `${text} (${href})`;
}

/**
 * The HTML that models write into Markdown. A name that people also write as a placeholder, as `<address>` or `<time>`,
 * is not among them.
 */
const elements = new Set(
  [
    'a abbr b big br center code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u wbr',
    'blockquote dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr iframe img li ol p pre summary svg ul',
    'body col colgroup head html script style table tbody td tfoot th thead tr',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Removes tags, comments and declarations; a break becomes a line feed. Other words in angle brackets are text:
 * `List<String>`, `<order-number>`.
 */
function withoutTags(html: string): string {
  return html.replaceAll(
    /<(?:[!?]|\/?([a-z][a-z\d-]*)(?=[\s/>]))[^<>]*>/gi,
    (tag: string, name: string = '') => {
      const element = name.toLowerCase();
      if (element === 'br') return '\n';
      return element === '' || elements.has(element) ? '' : tag;
    },
  );
}
