import test from 'ava';
import { Survey } from '../../../../src/models/compat/survey.js';

test('a field that every object has is listed like any other', (t) => {
  const survey = new Survey();
  for (const field of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    survey.add(field, field, 'x');
    survey.add(`${field}s`, `${field}s`, ['x']);
  }
  t.is(survey.fields.length, 8);
});

test('a field is left out with the value that vendors use without it', (t) => {
  const survey = new Survey();
  survey.add('n', 'n', 1);
  survey.add('modalities', 'modalities', ['text']);
  survey.add('presence_penalty', 'presence_penalty', 0.5);
  survey.add('verbosity', 'verbosity', null);
  t.deepEqual(survey.fields, [{ field: 'presence_penalty', path: 'presence_penalty' }]);
});
