import test from 'ava';
import {
  faultOfAddress,
  fillAddress,
  fillJson,
  FillBudget,
  fillText,
} from '../../../src/automation/triggers/templates.js';

const names = {
  name: 'Ada',
  count: 3,
  ok: true,
  list: [1, 2],
  order: { id: 7, lines: [{ sku: 'x' }] },
  'a.b': 'whole name',
  hostile: '{{ name }}',
};

test('placeholders become text, with spaces or without, along paths, and missing ones become nothing', (t) => {
  t.is(fillText('Hi {{name}}, {{ count }} of {{ order.id }}{{ nothing }}', names), 'Hi Ada, 3 of 7');
  t.is(fillText('{{ order.lines }} {{ a.b }} {{order.lines.0.sku}}', names), '[{"sku":"x"}] whole name x');
  t.is(fillText('{{ name | upper }} { {name} } {{', names), '{{ name | upper }} { {name} } {{');
});

test('inserted text is never read for placeholders again', (t) => {
  t.is(fillText('{{ hostile }} {{ name }}', names), '{{ name }} Ada');
  t.deepEqual(fillJson({ a: '{{hostile}}' }, names), { a: '{{ name }}' });
  t.is(fillText('{{ __proto__ }}{{ constructor.name }}{{ name.length }}', names), '');
});

test('a JSON value that is exactly one placeholder keeps its type', (t) => {
  t.deepEqual(
    fillJson(
      { a: '{{ count }}', b: 'n={{ count }}', c: ['{{ok}}', '{{list}}', 5, null], d: '{{no}}' },
      names,
    ),
    {
      a: 3,
      b: 'n=3',
      c: [true, [1, 2], 5, null],
      d: '',
    },
  );
});

test('values in addresses are percent-encoded and cannot leave the path', (t) => {
  const template = 'https://api.example.com/users/{{ id }}?q={{ q }}';
  t.is(
    fillAddress(template, { id: 'a/b?c', q: 'x&y=z' }),
    'https://api.example.com/users/a%2Fb%3Fc?q=x%26y%3Dz',
  );
  t.is(fillAddress(template, { id: '..' }), undefined);
  t.is(fillAddress('https://api.example.com/v1/..{{ id }}', { id: '' }), undefined);
});

test('scheme and host of an address must be literal', (t) => {
  t.is(faultOfAddress('https://api.example.com/{{ path }}?x={{ y }}'), undefined);
  t.is(faultOfAddress('http://127.0.0.1:8080'), undefined);
  for (const wrong of [
    '{{ scheme }}://example.com/',
    'https://{{ host }}/x',
    'https://api.{{ zone }}.example.com/x',
    'https://example.com:{{ port }}/',
    'https://user:password@example.com/',
    'https://example.com{{ rest }}',
    'ftp://example.com/',
    'example.com/x',
    '',
  ])
    t.not(faultOfAddress(wrong), undefined, wrong);
});

test('a short template does not become a long text, however long its values are', (t) => {
  const answer = 'x'.repeat(1_000_000);
  const bomb = '{{ answer }}'.repeat(5_000);
  const refused = { code: 'validation_error', message: /filled template is too long/ };
  t.throws(() => fillText(bomb, { answer }), refused);
  t.throws(() => fillText(bomb, { answer: [answer] }), refused);
  for (const one of ['{{ answer }}', 'of {{ answer }}']) {
    const list = Array.from({ length: 5_000 }, () => one);
    t.throws(() => fillJson(list, { answer }), refused);
    t.throws(() => fillJson(Object.fromEntries(list.entries()), { answer }), refused);
    t.throws(() => fillJson(list, { answer: { text: answer } }), refused);
  }
  t.throws(() => fillJson({ a: { b: bomb } }, { answer }), refused);
  t.throws(() => fillAddress(`https://example.com/${bomb}`, { answer }), refused);
  t.is(fillText(bomb, { answer }, undefined, new FillBudget(10, 'cut')), 'x'.repeat(10));
  t.is(fillText('{{ answer }}', { answer }).length, 1_000_000);
});
