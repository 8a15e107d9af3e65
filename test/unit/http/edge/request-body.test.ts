import test from 'ava';
import { refuseLongText } from '../../../../src/http/operations/index.js';

const textBytesMax = 1_000;

function refusedCode(body: unknown): string | undefined {
  try {
    refuseLongText(Buffer.from(JSON.stringify(body)), body, textBytesMax);
    return undefined;
  } catch (error) {
    return (error as { readonly code?: string }).code;
  }
}

test('a body is bounded by its text, whatever images and files come with it', (t) => {
  const [long, image] = ['x'.repeat(1_000), 'A'.repeat(5_000)];
  t.is(refusedCode({ query: 'x'.repeat(900) }), undefined);
  t.is(refusedCode({ query: long }), 'payload_too_large');
  const dialects = [
    { messages: [{ role: 'user', content: [{ type: 'image', data: image }] }] },
    {
      messages: [{ content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }] }],
    },
    { input: [{ content: [{ type: 'input_file', file_data: image }] }] },
    { messages: [{ content: [{ type: 'image', source: { type: 'base64', data: image } }] }] },
  ];
  for (const body of dialects) {
    t.is(refusedCode(body), undefined);
    t.is(refusedCode({ ...body, system: long }), 'payload_too_large');
  }
});
