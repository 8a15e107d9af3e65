import test, { type ExecutionContext } from 'ava';
import { EgressError, type StreamedAnswer } from '../../../../src/infra/egress/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import {
  attachmentsShape,
  type GivenPart,
  partReader,
  userPartOf,
} from '../../../../src/models/parts/index.js';

const scope = tenantScope('00000000-0000-4000-8000-000000000001');
const png = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');
const pdf = Buffer.from('junk before\n%PDF-1.7\n');

function answered(bytes: Buffer, contentType: string, status = 200): () => Promise<StreamedAnswer> {
  const headers = { 'content-type': contentType };
  async function* body(): AsyncGenerator<Uint8Array, void, void> {
    for (let at = 0; at < bytes.length; at += 3) yield bytes.subarray(at, at + 3);
  }
  return () => Promise.resolve({ status, headers, url: '', body: body(), truncated: () => false });
}

function read(part: object, streamGuarded: () => Promise<StreamedAnswer> = answered(png, 'image/png')) {
  const [given] = attachmentsShape.parse([part]) as readonly GivenPart[];
  const reader = partReader({ checkUrl: (url) => new URL(url), streamGuarded });
  if (given === undefined) throw new Error('one part is given');
  return reader(scope, [{ part: given, field: 'a' }]);
}

async function refusal(t: ExecutionContext, ...given: Parameters<typeof read>): Promise<unknown> {
  const error = await t.throwsAsync(read(...given), { instanceOf: PlatformError });
  return [error.code, error.details?.['field']];
}

const inline = (type: string, bytes: Buffer, more: object = {}): object => ({
  type,
  data: bytes.toString('base64'),
  ...more,
});

test('the type of content is what its bytes show', async (t) => {
  const typeOf = async (...given: Parameters<typeof read>): Promise<string | undefined> =>
    (await read(...given))[0]?.mediaType;
  t.is(await typeOf(inline('image', png)), 'image/png');
  t.is(
    await typeOf(inline('image', png, { media_type: 'image/jpeg' })),
    'image/png',
    'a wrong name of an image',
  );
  t.is(await typeOf(inline('file', png)), 'image/png');
  t.is(await typeOf(inline('file', pdf, { media_type: 'application/octet-stream' })), 'application/pdf');
  t.is(await typeOf(inline('file', Buffer.from('words'))), 'text/plain');
  t.is(
    await typeOf(inline('file', Buffer.from('a,b'), { media_type: 'Text/CSV; charset=utf-8' })),
    'text/csv',
  );
  t.is(await typeOf(inline('file', Buffer.from([0, 255]))), 'application/octet-stream');
  const url = 'https://files.example/a';
  t.is(await typeOf({ type: 'image', url }, answered(png, 'text/html')), 'image/png');
  t.is(
    await typeOf({ type: 'file', url }, answered(Buffer.from('{}'), 'application/json; q=1')),
    'application/json',
  );
});

test('content that is not what it should be is refused with its field', async (t) => {
  const url = 'https://files.example/a';
  t.deepEqual(await refusal(t, inline('image', pdf)), ['validation_error', 'a.data']);
  t.deepEqual(await refusal(t, inline('image', Buffer.from('words'))), ['validation_error', 'a.data']);
  t.deepEqual(await refusal(t, inline('image', png, { media_type: 'image/tiff' })), [
    'validation_error',
    'a.media_type',
  ]);
  t.deepEqual(await refusal(t, inline('file', Buffer.from([0xff, 0xfe]), { media_type: 'text/plain' })), [
    'validation_error',
    'a.data',
  ]);
  for (const data of ['a', 'a===', 'ab c', 'aGk', 'aGk_', '====']) {
    t.deepEqual(await refusal(t, { type: 'file', data }), ['validation_error', 'a.data'], data);
  }
  t.deepEqual(await refusal(t, { type: 'image', url }, answered(Buffer.from('<html>'), 'image/png')), [
    'validation_error',
    'a.url',
  ]);
  t.deepEqual(await refusal(t, { type: 'image', url }, answered(png, 'image/png', 404)), [
    'validation_error',
    'a.url',
  ]);
  t.deepEqual(await refusal(t, { type: 'image', url }, answered(Buffer.alloc(0), 'image/png')), [
    'validation_error',
    'a.url',
  ]);
  for (const [failure, code] of [
    ['too_large', 'payload_too_large'],
    ['forbidden_target', 'validation_error'],
    ['timeout', 'validation_error'],
  ] as const) {
    const fails = () => Promise.reject(new EgressError(failure, 'The host is away.', { host: 'away.test' }));
    t.deepEqual(await refusal(t, { type: 'image', url }, fails), [code, 'a.url']);
  }
});

test('five megabytes are read, and one byte more is refused before it is decoded', async (t) => {
  const most = 5 * 1024 * 1024;
  for (const padding of [0, 1, 2]) {
    const [part] = await read(inline('file', Buffer.alloc(most - padding, 'x')));
    t.is(part?.bytes.byteLength, most - padding);
    t.deepEqual(await refusal(t, inline('file', Buffer.alloc(most + 1 + padding, 'x'))), [
      'payload_too_large',
      'a.data',
    ]);
  }
});

test('a name loses its folders and line breaks', async (t) => {
  const name = async (given: string): Promise<string | undefined> =>
    (await read(inline('file', Buffer.from('x'), { name: given })))[0]?.name;
  t.is(await name('../../etc/pass\nwd'), 'pass wd');
  t.is(await name('C:\\docs\\a.txt'), 'a.txt');
  t.is(await name(' '), undefined);
});

test('text files become text for the model, and other files keep their bytes', (t) => {
  const bytes = Buffer.from('{"a":1}');
  t.deepEqual(userPartOf({ mediaType: 'application/json', name: 'a "b".json', bytes }), {
    type: 'text',
    text: '<file name="a \\"b\\".json">\n{"a":1}\n</file>',
  });
  const data = pdf.toString('base64');
  t.deepEqual(userPartOf({ mediaType: 'application/pdf', name: undefined, bytes: pdf }), {
    type: 'file',
    source: { kind: 'base64', mediaType: 'application/pdf', data },
  });
});
