// The site is a view of the project's Markdown, which stays where it is and readable on its own.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { markFences } from '../fences.mjs';
import { linkPages } from '../links.mjs';
import { navigation, otherFiles, pages, sidebar } from '../navigation.mjs';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** A page of a thousand rows about tests would lead the results of every search. */
function searchedText(source, env, markdown) {
  const html = markdown.render(source, env);
  return env.relativePath.endsWith('protocol/mutants.md') ? '' : html;
}

export default defineConfig({
  title: 'Troupe',
  description: 'Calls of language models and agents for many tenants, on one installation.',
  base: process.env.TROUPE_DOCS_BASE ?? '/',
  // Browsers ask for an icon otherwise.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '..',
  srcExclude: otherFiles,
  outDir: path('../dist'),
  cacheDir: path('../.cache'),
  rewrites: Object.fromEntries(pages.map(({ file, address }) => [file, address])),
  markdown: {
    // As GitHub does, so that one anchor works in both.
    anchor: {
      slugify: (text) =>
        text
          .trim()
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
          .replaceAll(' ', '-'),
    },
    config(markdown) {
      markFences(markdown);
      linkPages(markdown);
    },
  },
  vite: {
    publicDir: false,
    build: { chunkSizeWarningLimit: 4_000 },
  },
  themeConfig: {
    nav: navigation,
    sidebar,
    search: { provider: 'local', options: { _render: searchedText } },
    outline: [2, 3],
    docFooter: { prev: false, next: false },
  },
});
