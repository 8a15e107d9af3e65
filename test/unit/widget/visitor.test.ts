// What the pages of a site keep of their visitor, who may have several of them open.
import test from 'ava';
import { bundledModules } from '../../support/builders/bundled-modules.js';

interface Store {
  readonly visitor: object;
  takeSecret(): string | undefined;
  change(fields: object): void;
  forget(): void;
}

const { VisitorStore } = await bundledModules<{
  readonly VisitorStore: new (key: string, agent: string) => Store;
}>('widget/src/visitor.ts');
const kept = new Map<string, string>();
Object.assign(globalThis, {
  localStorage: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  },
});

/** Pages of one agent each, so that tests share nothing. */
let agents = 0;
function site() {
  agents += 1;
  const agent = `agent-${agents}`;
  return () => new VisitorStore('pk_live_x', agent);
}

test('what one page writes stays when another page writes something else', (t) => {
  const page = site();
  const [first, second] = [page(), page()];
  const pending = { text: 'How much?', idempotencyKey: 'a-key', executionId: 'a-turn' };
  first.change({ secret: 'a secret', sessionId: 'a-session', pending });
  second.change({ isOpen: true });
  t.deepEqual(page().visitor, { secret: 'a secret', sessionId: 'a-session', pending, isOpen: true });
});

test('a page without a secret takes the one that another page has got', (t) => {
  const page = site();
  const [first, second] = [page(), page()];
  t.is(second.takeSecret(), undefined);
  first.change({ secret: 'a secret' });
  t.is(second.takeSecret(), 'a secret');
  t.like(second.visitor, { secret: 'a secret' });
});

test('a conversation that one page forgets is not brought back by another', (t) => {
  const page = site();
  page().change({ secret: 'a secret', sessionId: 'a-session', isOpen: true });
  const [first, second] = [page(), page()];
  first.forget();
  second.change({ isOpen: false });
  t.deepEqual(page().visitor, { isOpen: false });
});

test('a page whose visitor another page has forgotten keeps its conversation for itself', (t) => {
  for (const began of [{}, { secret: 'another secret', sessionId: 'another-session' }]) {
    const page = site();
    page().change({ secret: 'a secret', sessionId: 'a-session' });
    const [first, second] = [page(), page()];
    first.forget();
    first.change(began);
    const pending = { text: 'How much?', idempotencyKey: 'a-key' };
    second.change({ pending });
    second.change({ sessionId: 'a-session', pending: { ...pending, executionId: 'a-turn' } });
    second.change({ isOpen: true });
    t.deepEqual(page().visitor, { ...began, isOpen: true });
    t.like(second.visitor, { secret: 'a secret', sessionId: 'a-session' });
  }
});

test('a page that begins anew forgets also what another page has begun since', (t) => {
  const page = site();
  page().change({ secret: 'a secret', sessionId: 'a-session', isOpen: true });
  const [first, second] = [page(), page()];
  first.forget();
  first.change({ secret: 'another secret', sessionId: 'another-session' });
  second.forget();
  t.deepEqual(page().visitor, { isOpen: true });
});

test('a message of a page without a secret is kept with the visitor of another page', (t) => {
  const page = site();
  const [first, second] = [page(), page()];
  first.change({ secret: 'a secret', sessionId: 'a-session' });
  const pending = { text: 'How much?', idempotencyKey: 'a-key' };
  second.change({ pending });
  t.deepEqual(page().visitor, { secret: 'a secret', sessionId: 'a-session', pending });
});

test('a storage that the site has emptied gets the whole visitor again', (t) => {
  const page = site();
  const first = page();
  first.change({ secret: 'a secret', sessionId: 'a-session' });
  kept.delete(`troupe-chat/pk_live_x/agent-${agents}`);
  first.change({ isOpen: true });
  t.deepEqual(page().visitor, { secret: 'a secret', sessionId: 'a-session', isOpen: true });
});
