import test from 'ava';
import { z } from 'zod';
import { SchemaBook } from '../../../../src/http/documents/schema-book.js';
import { asSent, named } from '../../../../src/http/operations/index.js';

const plain = named('Plain', z.object({ id: z.uuid() }));
const withDefault = named('Settings', z.object({ days: z.int().default(30) }));
const around = named('Around', z.object({ settings: withDefault }));

test('a named schema is described once, and references lead to it', (t) => {
  const book = new SchemaBook();
  const paths = {
    answer: book.write(z.object({ data: z.array(plain) }), 'output'),
    request: book.write(plain, 'input'),
  };
  const { document, schemas } = book.completed(paths);
  t.deepEqual(Object.keys(schemas), ['Plain']);
  t.deepEqual(document.request, { $ref: '#/components/schemas/Plain' });
  t.like(document.answer, { properties: { data: { items: { $ref: '#/components/schemas/Plain' } } } });
});

test('where a request may leave out what an answer has, the form of requests has a name of its own', (t) => {
  const book = new SchemaBook();
  const paths = { answer: book.write(around, 'output'), request: book.write(around, 'input') };
  const { document, schemas } = book.completed(paths);
  t.deepEqual(Object.keys(schemas), ['Around', 'AroundInput', 'Settings', 'SettingsInput']);
  t.deepEqual(document.request, { $ref: '#/components/schemas/AroundInput' });
  t.like(schemas['AroundInput'], {
    properties: { settings: { $ref: '#/components/schemas/SettingsInput' } },
  });
  t.deepEqual((schemas['Settings'] as { required: string[] }).required, ['days']);
});

test('an answer may have an object in the form in which it was sent', (t) => {
  const book = new SchemaBook();
  const answer = book.write(z.object({ settings: asSent(withDefault) }), 'output');
  const { document, schemas } = book.completed({ answer });
  t.deepEqual(Object.keys(schemas), ['Settings']);
  t.like(document.answer, { properties: { settings: { $ref: '#/components/schemas/Settings' } } });
  t.is((schemas['Settings'] as { required?: string[] }).required, undefined);
});

test('alternatives that a constant tells apart name it', (t) => {
  const choice = z.discriminatedUnion('type', [
    named('One', z.object({ type: z.literal('one') })),
    named('Two', z.object({ type: z.literal('two') })),
  ]);
  const book = new SchemaBook();
  book.write(named('Choice', choice), 'output');
  t.like(book.completed({}).schemas['Choice'], {
    discriminator: {
      propertyName: 'type',
      mapping: { one: '#/components/schemas/One', two: '#/components/schemas/Two' },
    },
  });
});

test('answers may get fields, and bounds and patterns that say nothing are left out', (t) => {
  const book = new SchemaBook();
  const written = book.write(z.strictObject({ count: z.int(), id: z.uuid() }), 'output');
  t.deepEqual(written, {
    type: 'object',
    properties: { count: { type: 'integer' }, id: { type: 'string', format: 'uuid' } },
    required: ['count', 'id'],
  });
});

test('a schema that refers to itself needs a name', (t) => {
  const tree: z.ZodType = z.lazy(() => z.object({ inner: tree.optional() }));
  t.throws(() => new SchemaBook().write(z.object({ tree }), 'output'), { message: /give it one with named/ });
  const book = new SchemaBook();
  book.write(z.object({ any: z.json() }), 'output');
  t.true(Object.keys(book.completed({}).schemas).includes('JsonValue'));
});
