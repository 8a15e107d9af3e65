import test from 'ava';
import { circlesOf } from '../../support/builders/circles.js';
import { readSources } from '../../support/builders/sources.js';

/** The folders of the console, top first. A folder imports only from those below it. */
const layers = ['main', 'frame', 'screens', 'reference', 'routing', 'ui', 'api', 'session'];

/** Parts of one screen that another one shows too. */
const sharedParts: Readonly<Record<string, string>> = {
  'console/src/screens/consumers/person-card.tsx': 'a conversation shows its person',
  'console/src/screens/errors/error-facts.tsx': "the operator sees all tenants' errors",
  'console/src/screens/sign-in/signed-out-page.tsx': 'the operator signs in by token',
};

const files = readSources('console/src').map(({ path, imports, lazyImports }) => ({
  path,
  // What loads a page when it is needed stands above it, and the page may name what the other declares.
  imports: imports.filter((target) => target.startsWith('console/src/') && !lazyImports.includes(target)),
}));

/** `console/src/ui/button.tsx` → `ui`. The two programs, `main.tsx` and `router.tsx` are the top. */
function layerOf(path: string): string {
  const [, , folder = '', file] = path.split('/');
  return file === undefined || path === 'console/src/reference/main.tsx' ? 'main' : folder;
}

test('a folder of the console imports only from those below it', (t) => {
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter((target) => {
        const [from, to] = [layers.indexOf(layerOf(path)), layers.indexOf(layerOf(target))];
        return from === -1 || to === -1 || to < from;
      })
      .map((target) => `${path} imports ${target}`),
  );
  t.deepEqual(wrong, []);
});

test('screens of the console share only named parts', (t) => {
  const screenOf = (path: string): string | undefined => /^console\/src\/screens\/([^/]+)\//.exec(path)?.[1];
  const shared = files.flatMap(({ path, imports }) =>
    screenOf(path) === undefined
      ? []
      : imports.filter((target) => screenOf(target) !== undefined && screenOf(target) !== screenOf(path)),
  );
  t.deepEqual([...new Set(shared)].toSorted(), Object.keys(sharedParts).toSorted());
});

test('no file of the console, the client or the widget imports itself by a detour', (t) => {
  const others = readSources('client/src', 'widget/src');
  t.deepEqual(circlesOf(new Map([...files, ...others].map(({ path, imports }) => [path, imports]))), []);
});
