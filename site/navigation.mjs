// The pages of the site, read from the folders: a new guide, decision or runbook appears by itself.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const used = ['docs', 'client', 'cluster', 'console', 'bench', 'migrations', 'site', 'examples'];

/** Guides that operators read, in their order; guides that begin with `add-` change the product, all others use it. */
const operating = [
  'run-a-cluster',
  'run-in-containers',
  'back-up-and-restore',
  'watch-a-cluster',
  'upgrade',
].map((name) => `docs/guides/${name}.md`);

const guides = filesIn('docs/guides');
const changing = guides.filter((file) => file.startsWith('docs/guides/add-'));

/** The concepts in the order in which they are read; others follow. */
const concepts = ['conversations', 'automation', 'tenants'].map((name) => `docs/concepts/${name}.md`);

const sections = [
  { text: 'Start', groups: [{ files: ['README.md', 'docs/start.md', 'CHANGELOG.md'] }] },
  {
    text: 'Concepts',
    groups: [{ files: [...new Set([...concepts, ...filesIn('docs/concepts')]), 'docs/glossary.md'] }],
  },
  {
    text: 'Guides',
    groups: [
      { files: guides.filter((file) => !operating.includes(file) && !changing.includes(file)) },
      { text: 'Examples', files: readmesIn('examples') },
    ],
  },
  {
    text: 'Reference',
    groups: [
      {
        files: [
          'site/pages/reference/commands.md',
          'site/pages/reference/settings.md',
          'docs/errors.md',
          'docs/fields.md',
          'docs/interop.md',
          'client/README.md',
        ],
      },
      { text: 'HTTP', files: filesIn('site/pages/reference/http') },
    ],
  },
  {
    text: 'Operations',
    groups: [
      { files: [...operating, ...filesIn('docs/upgrades'), 'SECURITY.md'] },
      { text: 'Runbooks', files: filesIn('docs/runbooks') },
    ],
  },
  {
    text: 'Internals',
    groups: [
      {
        files: [
          'docs/architecture.md',
          'cluster/README.md',
          ...filesIn('docs/protocol'),
          'docs/threat-model.md',
          'migrations/README.md',
          'console/README.md',
          'bench/README.md',
        ],
      },
      { text: 'Change Troupe', files: ['CONTRIBUTING.md', ...changing] },
      { text: 'Decisions', files: filesIn('docs/decisions'), collapsed: true },
    ],
  },
  { text: 'Comparisons', groups: [{ files: ['docs/comparisons.md'] }] },
];

/** File in the project, address in the site, title. */
export const pages = sections
  .flatMap(({ groups }) => groups.flatMap(({ files }) => files))
  .filter((file) => existsSync(`${root}${file}`))
  .map((file) => ({ file, address: addressOf(file), title: titleOf(file) }));

const byFile = new Map(pages.map((page) => [page.file, page]));

export const navigation = sections.map(({ text, groups }) => ({
  text,
  link: linkOf(itemsOf(groups[0].files)[0]),
}));

export const sidebar = sections.map(({ text, groups: [first, ...others] }) => ({
  text,
  collapsed: true,
  items: [
    ...itemsOf(first.files).map(toLink),
    ...others
      .map((group) => ({ text: group.text, collapsed: true, items: itemsOf(group.files).map(toLink) }))
      .filter(({ items }) => items.length > 0),
  ],
}));

/** Markdown that is no page. */
export const otherFiles = readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
  if (!entry.isDirectory()) return entry.name.endsWith('.md') && !byFile.has(entry.name) ? [entry.name] : [];
  return used.includes(entry.name) ? [`${entry.name}/**/dist/**`] : [`${entry.name}/**`];
});

function itemsOf(files) {
  return files.flatMap((file) => byFile.get(file) ?? []);
}

function toLink(page) {
  return { text: page.title.replace(/^HTTP: /, ''), link: linkOf(page) };
}

export function linkOf({ address }) {
  return `/${address.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;
}

/** `docs/guides/upgrade.md` is at `guides/upgrade`, a README at its folder. */
function addressOf(file) {
  return file.replace(/^(?:docs|site\/pages)\//, '').replace(/(^|\/)README\.md$/, '$1index.md');
}

function titleOf(file) {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(`${root}${file}`, 'utf8')) ?? [];
  return title.replaceAll('`', '');
}

function filesIn(folder) {
  if (!existsSync(`${root}${folder}`)) return [];
  const names = readdirSync(`${root}${folder}`).filter((name) => name.endsWith('.md'));
  // A README leads its folder.
  return names
    .sort((one, other) => rank(one) - rank(other) || one.localeCompare(other, 'en'))
    .map((name) => `${folder}/${name}`);
}

function rank(name) {
  return name === 'README.md' ? 0 : 1;
}

function readmesIn(folder) {
  if (!existsSync(`${root}${folder}`)) return [];
  return readdirSync(`${root}${folder}`)
    .map((name) => (name === 'README.md' ? `${folder}/README.md` : `${folder}/${name}/README.md`))
    .filter((file) => existsSync(`${root}${file}`));
}
