import { createHash } from 'node:crypto';
import { groupBy } from './group.js';
import type { Operation, OperationTable } from '../operations/index.js';

/** Every operation as a list, for readers that run no script. */
export function operationList(table: OperationTable): string {
  const groups = groupBy(table.operations, ({ name }) => name.split('.')[0] ?? '');
  const menu = [...groups.keys()]
    .map((group) => `<a href="#${escape(group)}">${escape(group)}</a>`)
    .join(' ');
  const sections = [...groups].map(
    ([group, operations]) => `<h2 id="${escape(group)}">${escape(group)}</h2>${operations.map(row).join('')}`,
  );
  return `<h1>Troupe API</h1><p>The machine-readable form of this page is <a href="/openapi.json">/openapi.json</a>.</p>
<nav>${menu}</nav>${sections.join('')}`;
}

/** The list as a page that loads nothing else, for nodes without the built reference. */
export function documentsPage(list: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Troupe API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head>
<body>${list}</body></html>`;
}

function row({ method, path, title, description, access, name }: Operation): string {
  const credentials = access.credentials.size === 0 ? 'none' : [...access.credentials].join(' or ');
  const permission =
    access.permission === null ? '' : ` · permission <code>${escape(access.permission)}</code>`;
  return `<section id="${escape(name)}"><h3><b>${method}</b> <code>${escape(path)}</code></h3>
<p>${escape(title)}${description === '' ? '' : `. ${escape(description)}`}</p>
<p class="meta">credential: ${escape(credentials)}${permission}</p></section>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}
h3{margin-bottom:0;font-size:1rem}section p{margin:.2rem 0}code{background:#f2f2f2;padding:0 .25em}
.meta{color:#666;font-size:.9em}nav a{margin-right:.8em}`;

/** The page runs no script and loads nothing; only its own style element applies. */
export const documentsPageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
};
