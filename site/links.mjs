// Links between files of the project become links between pages. A page also names others by path in backticks,
// `docs/guides/upgrade.md`; on the site these names are links.
import { existsSync } from 'node:fs';
import { posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linkOf, pages } from './navigation.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const addresses = new Map(pages.map((page) => [page.file, linkOf(page)]));

export function linkPages(markdown) {
  markdown.core.ruler.push('pages', ({ tokens, Token, env }) => {
    const from = relative(root, env.realPath ?? env.path ?? root);
    for (const [index, block] of tokens.entries()) {
      // The title of a section is a link already.
      if (tokens[index - 1]?.type === 'heading_open') continue;
      if (block.type === 'inline' && block.children !== null)
        block.children = linked(block.children, from, Token);
    }
  });
}

function linked(children, from, Token) {
  const open = [];
  return children.flatMap((token) => {
    if (token.type === 'link_open') {
      const href = addressOf(token.attrGet('href') ?? '', from);
      open.push(href !== undefined);
      if (href === undefined) return [];
      token.attrSet('href', href);
    }
    if (token.type === 'link_close' && open.pop() === false) return [];
    if (token.type !== 'code_inline' || open.length > 0) return [token];
    const address = pageOf(token.content);
    if (address === undefined) return [token];
    const before = new Token('link_open', 'a', 1);
    before.attrSet('href', address);
    return [before, token, new Token('link_close', 'a', -1)];
  });
}

/** Undefined: a file that is no page, such as a source, has no address here. */
function addressOf(href, from) {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href;
  const [path = '', hash] = href.split('#');
  const file = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(from), decodeURI(path));
  const address = pageOf(file);
  if (address !== undefined) return hash === undefined ? address : `${address}#${hash}`;
  if (!existsSync(`${root}${file}`)) throw new Error(`docs: ${from} links to ${href}, which does not exist`);
  return undefined;
}

/** The page of a file; of a folder, its README or its first page. */
function pageOf(name) {
  if (addresses.has(name)) return addresses.get(name);
  if (!name.includes('/')) return undefined;
  const folder = name.replace(/\/?$/, '/');
  const first = pages.find(({ file }) => file.startsWith(folder));
  return addresses.get(`${folder}README.md`) ?? (first === undefined ? undefined : addresses.get(first.file));
}
