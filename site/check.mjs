// Checks the built site: links and their anchors lead somewhere, and no page loads anything from another origin.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('./dist/', import.meta.url));
const base = process.env.TROUPE_DOCS_BASE ?? '/';
const files = readdirSync(folder, { recursive: true }).filter((name) => /\.(?:html|css)$/.test(name));
const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
const faults = files.flatMap((file) => [
  ...loadedElsewhere(file),
  ...(file.endsWith('.html') ? deadLinks(file) : []),
]);

for (const fault of new Set(faults)) process.stderr.write(`docs: ${fault}\n`);
if (faults.length > 0) process.exit(1);
process.stdout.write(
  `docs: ${files.filter((file) => file.endsWith('.html')).length} pages, no dead link, no other origin\n`,
);

function loadedElsewhere(file) {
  const text = texts.get(file);
  const loads = [
    ...text.matchAll(
      /<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data)="([^"]*)"/g,
    ),
    ...text.matchAll(/<link\b[^>]*?\bhref="([^"]*)"/g),
    ...(file.endsWith('.css') ? text.matchAll(/(?:url\(|@import )["']?([^"')]*)/g) : []),
  ];
  return loads
    .map(([, address]) => address)
    .filter((address) => /^(?:[a-z]+:)?\/\//i.test(address))
    .map((address) => `${file} loads ${address}`);
}

function deadLinks(file) {
  return [...texts.get(file).matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g)]
    .map(([, href]) => href.replaceAll('&amp;', '&'))
    .filter((href) => href.startsWith('/') || href.startsWith('#'))
    .filter((href) => isDead(href, file))
    .map((href) => `${file} links to ${href}, which does not exist`);
}

function isDead(href, file) {
  const [path, anchor] = href.split('#');
  const target = path === '' ? file : fileOf(path.slice(base.length));
  if (target === undefined) return true;
  if (anchor === undefined || anchor === '' || !target.endsWith('.html')) return false;
  return !texts.get(target).includes(`id="${decodeURIComponent(anchor)}"`);
}

function fileOf(path) {
  const names = [path, `${path}.html`, `${path}index.html`].map((name) => decodeURIComponent(name));
  return names.find((name) => existsSync(join(folder, name)) && statSync(join(folder, name)).isFile());
}
