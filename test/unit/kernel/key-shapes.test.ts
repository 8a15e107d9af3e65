import test from 'ava';
import { looksLikeCredential, redacted, redactText } from '../../../src/infra/diagnostics/index.js';
import { type KeyShape, keyShapes } from '../../../src/kernel/key-shapes.js';
import { VendorError } from '../../../src/llm/index.js';

/** Characters that every shape allows. */
const filler = (length: number): string => 'Z9X8'.repeat(length).slice(0, length);

/** The shortest key with each beginning. */
const samplesOf = ({ begins, least }: KeyShape): readonly string[] =>
  begins.map((begin) => begin + filler(least));

const samples = keyShapes.flatMap(samplesOf);

const messageOf = (reason: string): string => new VendorError('credential', reason, { vendor: 'x' }).message;

test('both redactions know each key shape of the list', (t) => {
  t.true(samples.length > 40);
  for (const key of samples) {
    t.true(looksLikeCredential(key), key);
    t.is(redactText(`before ${key} after`), `before ${redacted} after`);
    t.is(messageOf(`before ${key} after`), `before ${redacted} after`);
  }
});

test('one character less than the shortest key is an ordinary word for both', (t) => {
  for (const key of samples) {
    const word = key.slice(0, -1);
    t.false(looksLikeCredential(word), word);
    t.is(redactText(`before ${word} after`), `before ${word} after`);
    t.is(messageOf(`before ${word} after`), `before ${word} after`);
  }
});

test('a key that a vendor has masked in part is redacted whole in its error', (t) => {
  for (const shape of keyShapes) {
    for (const begin of shape.begins) {
      for (const mask of ['***', '…', '...', '*****************'])
        t.is(messageOf(`refused ${begin}Z9${mask}X8`), `refused ${redacted}`, `${begin} ${mask}`);
    }
  }
});

// A quadratic expression takes 30 seconds for the first text, a linear one half a second.
test('hostile text costs both redactions linear time', (t) => {
  for (const part of ['eyJ-', 'sk-', 'ghp_A', 'SG.', 'AIza-', 'sk-*.', 'npm_a*'])
    for (const text of [part.repeat(50_000), `${part}${'a'.repeat(200_000)}`]) {
      const start = process.cpuUsage();
      redactText(text);
      messageOf(text);
      t.true(process.cpuUsage(start).user < 10_000_000, part);
    }
});
