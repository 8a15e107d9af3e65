// The pictures of the pages: each page's picture is there, small, and no picture is left over.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = 'docs/images';
/** A page with eight of them stays below half a megabyte. */
const bytesMax = 60_000;

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** Path in the project → the pages that show it. */
function shownPictures(): ReadonlyMap<string, readonly string[]> {
  const shown = new Map<string, string[]>();
  for (const page of pages) {
    for (const [, target = ''] of readFileSync(join(root, page), 'utf8').matchAll(
      /!\[[^\]]*\]\(([^)]+\.\w+)\)/g,
    )) {
      if (target.includes('://')) continue;
      const path = relative(root, join(root, dirname(page), target));
      shown.set(path, [...(shown.get(path) ?? []), page]);
    }
  }
  return shown;
}

test('pictures of pages are there and small, and each is shown', (t) => {
  const shown = shownPictures();
  const kept = readdirSync(join(root, folder)).map((name) => join(folder, name));
  t.deepEqual(
    [...shown.keys()].filter((path) => !kept.includes(path)),
    [],
    'a page names a picture that is not there: npm run screenshots',
  );
  t.deepEqual(
    kept.filter((path) => !shown.has(path)),
    [],
    'no page shows it',
  );
  for (const path of kept) {
    t.true(path.endsWith('.webp'), path);
    t.true(statSync(join(root, path)).size <= bytesMax, `${path} has more than ${bytesMax} bytes`);
  }
});

test('the README shows the main screens of the console', (t) => {
  const shown = shownPictures();
  for (const name of ['overview', 'inbox', 'turn', 'agents', 'cluster'])
    t.true(shown.get(`${folder}/${name}.webp`)?.includes('README.md'), name);
});
