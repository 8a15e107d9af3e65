import test from 'ava';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { AnswerFit, parsedAnswer, readResponseFormat } from '../../../../src/models/response-format/index.js';
import { run } from '../../../../src/models/response-format/fit.task.js';

const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const fit = (given: unknown, answer = ''): ReturnType<typeof run> =>
  run({ schema: JSON.stringify(given), answer });

test('an answer that does not fit is told where', (t) => {
  t.deepEqual(fit(schema, '{"n":1}'), {});
  t.is(fit(schema, '{"n":"x"}').mismatch, '/n must be integer');
  t.is(fit(schema, '[]').mismatch, 'the answer must be object');
  t.deepEqual(fit({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' }, '{"n":1}'), {});
});

test('a schema that cannot be used is found before it is asked by', (t) => {
  t.regex(fit({ type: 'odd' }).schemaFault ?? '', /must be equal to one of the allowed values/);
  t.regex(fit({ $ref: 'https://elsewhere.example/a' }).schemaFault ?? '', /can't resolve reference/);
  t.regex(fit({ type: 'string', pattern: '(' }).schemaFault ?? '', /Invalid regular expression/);
  t.is(fit({ $async: true, type: 'object' }).schemaFault, '$async is not supported');
});

test('a schema with the id of the draft changes no other check', (t) => {
  t.deepEqual(
    fit({ $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }, '{}').mismatch,
    undefined,
  );
  t.regex(fit({ type: 'odd' }).schemaFault ?? '', /allowed values/);
});

test('an answer of blank lines in a fence that does not end is judged at once', (t) => {
  const startedMs = performance.now();
  t.is(parsedAnswer(`\`\`\`${'\n'.repeat(200_000)}x`), undefined);
  t.is(parsedAnswer(`\`\`\`${'\n'.repeat(200_000)}\`\`\``), undefined);
  t.true(performance.now() - startedMs < 1_000);
});

test('an answer in a fence is read, and words around it are not', async (t) => {
  t.deepEqual(parsedAnswer('```json\n{"n":1}\n```'), { n: 1 });
  t.deepEqual(parsedAnswer('``` \r\n\n{"n":1}```\n'), { n: 1 });
  t.is(parsedAnswer('```yaml\n1\n```'), undefined);
  t.is(parsedAnswer('```\n```'), undefined);
  t.deepEqual(parsedAnswer(' {"n":1}\n'), { n: 1 });
  const fitting = new AnswerFit({
    run: (_tenant, task, input) => Promise.resolve((task.run ?? run)(input() as never) as never),
  });
  const scope = tenantScope('00000000-0000-4000-8000-000000000001');
  const format = { type: 'json_schema', name: 'a', schema } as const;
  t.deepEqual(await fitting.of(scope, format, '{"n":2}'), { parsed: { n: 2 } });
  t.deepEqual(await fitting.of(scope, format, 'Sure: {"n":2}'), { mismatch: 'the answer is not JSON' });
});

test('an answer that is nested more deeply than any store takes is not read', (t) => {
  t.is(parsedAnswer(`${'['.repeat(200_000)}${']'.repeat(200_000)}`), undefined);
  t.deepEqual(
    parsedAnswer(`${'['.repeat(20)}${']'.repeat(20)}`),
    JSON.parse(`${'['.repeat(20)}${']'.repeat(20)}`),
  );
});

test('a format is read with the path of what is wrong', (t) => {
  const wrong = (value: unknown, field: string): void => {
    t.like(
      t.throws(() => readResponseFormat(value, 'f')),
      { details: { field } },
    );
  };
  wrong('json', 'f');
  wrong({ type: 'json_object' }, 'f.type');
  wrong({ type: 'json_schema', json_schema: { name: 'a b', schema } }, 'f.json_schema.name');
  wrong(
    { type: 'json_schema', json_schema: { name: 'a', schema: { x: 'y'.repeat(65_536) } } },
    'f.json_schema.schema',
  );
});
