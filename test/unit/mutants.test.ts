import { readFileSync } from 'node:fs';
import test from 'ava';
import { parts } from '../mutants/index.js';
import { mutate } from '../mutants/mutant.js';
import { readOutcomes, renderPage } from '../mutants/table.js';

const mutants = parts.flatMap((part) => part.mutants);
const page = readFileSync('docs/protocol/mutants.md', 'utf8');

test('every mutant still fits the code', (t) => {
  const moved = mutants.flatMap((mutant) => {
    try {
      mutate(readFileSync(mutant.file, 'utf8'), mutant);
      return [];
    } catch (error) {
      return [String(error)];
    }
  });
  t.deepEqual(moved, []);
});

test('every mutant has a name of its own', (t) => {
  t.is(new Set(mutants.map(({ id }) => id)).size, mutants.length);
});

test('the page of mutants is the one that their outcomes make', (t) => {
  t.is(renderPage(parts, readOutcomes(page)), page);
});

test('a mutant whose text is missing, or occurs twice, is refused with its name', (t) => {
  const mutant = { id: 'gone', file: 'a.ts', rule: '', tests: [], simulations: [], escapes: undefined };
  t.throws(() => mutate('x', { ...mutant, find: 'y', replace: '' }), { message: /gone.* occurs 0 times/ });
  t.throws(() => mutate('yy', { ...mutant, find: 'y', replace: '' }), { message: /gone.* occurs 2 times/ });
  t.throws(() => mutate('y', { ...mutant, find: 'y', replace: 'y' }), { message: /gone changes nothing/ });
});
