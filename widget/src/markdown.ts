import { Lexer, type Token, type Tokens } from 'marked';
import { boundedMarkdown } from '../../console/src/ui/bounded-markdown';

/** Longer texts are shown as they are: parsing them would hold up the page. */
const charactersMax = 50_000;

/**
 * Markdown as nodes. Only the elements named here are made, and every text is a text node, so markup within an answer is
 * shown and never runs. Pictures become links: an answer must not make the browser ask another site for anything.
 */
export function markdown(text: string): Node {
  const made = boundedMarkdown(text, charactersMax, (tokenizer) =>
    nodes(new Lexer({ gfm: true, breaks: true, tokenizer }).lex(text)),
  );
  if (made !== undefined) return made;
  const plain = element('p', text);
  plain.className = 'plain';
  return plain;
}

function nodes(tokens: readonly Token[] | undefined): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const token of tokens ?? []) fragment.append(nodeOf(token));
  return fragment;
}

const plainTags: Readonly<Record<string, string>> = {
  paragraph: 'p',
  strong: 'strong',
  em: 'em',
  del: 'del',
  blockquote: 'blockquote',
};

function nodeOf(token: Token): Node {
  const tag = plainTags[token.type];
  if (tag !== undefined) return element(tag, nodes('tokens' in token ? token.tokens : []));
  switch (token.type) {
    case 'heading':
      // Headings of an answer are none of the page.
      return element('p', element('strong', nodes((token as Tokens.Heading).tokens)));
    case 'br':
      return element('br');
    case 'hr':
      return element('hr');
    case 'space':
    case 'def':
      return textOf('');
    case 'escape':
      return textOf(token['text']);
    case 'codespan':
      return element('code', token['text']);
    case 'code':
      return element('pre', element('code', token['text']));
    case 'list':
      return listOf(token as Tokens.List);
    case 'link':
    case 'image':
      return linkOf(token as Tokens.Link);
    case 'table':
      return tableOf(token as Tokens.Table);
    case 'text':
      return 'tokens' in token && token.tokens !== undefined
        ? nodes(token.tokens)
        : textOf(decoded(token.text));
    default:
      return textOf(token.raw);
  }
}

function listOf({ ordered, start, items }: Tokens.List): Node {
  const list = element(ordered ? 'ol' : 'ul');
  if (ordered && typeof start === 'number' && start !== 1) list.setAttribute('start', String(start));
  for (const { tokens } of items) list.append(element('li', nodes(tokens)));
  return list;
}

function tableOf({ header, rows }: Tokens.Table): Node {
  const cells = (tag: string, row: readonly Tokens.TableCell[]): Node =>
    element('tr', ...row.map(({ tokens }) => element(tag, nodes(tokens))));
  const head = element('thead', cells('th', header));
  return element('table', head, element('tbody', ...rows.map((row) => cells('td', row))));
}

function linkOf({ href, text, tokens }: Tokens.Link): Node {
  const content = tokens === undefined || tokens.length === 0 ? textOf(text || href) : nodes(tokens);
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return content;
  const link = element('a', content);
  link.setAttribute('href', href);
  link.setAttribute('target', '_blank');
  link.setAttribute('rel', 'noopener noreferrer nofollow');
  return link;
}

function element(tag: string, ...children: readonly (Node | string)[]): HTMLElement {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

const textOf = (text: string): Node => document.createTextNode(text);

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The entities that models write for characters of markup. */
function decoded(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|amp|#39);/g, (entity) => entities[entity] ?? entity);
}
