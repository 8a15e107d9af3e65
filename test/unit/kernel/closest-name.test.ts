import test from 'ava';
import {
  askedBack,
  closestName,
  closestNames,
  didYouMean,
  relativeDistance,
} from '../../../src/kernel/closest-name.js';

const known = ['TROUPE_HTTP_PORT', 'TROUPE_GRPC_PORT', 'TROUPE_SEED'];

test('a name with a letter missing, added, changed or swapped suggests the closest known name', (t) => {
  for (const given of [
    'TROUPE_HTP_PORT',
    'TROUPE_HTTPS_PORT',
    'TROUPE_HTTP_PART',
    'TROUPE_HTPT_PORT',
    'troupe_http_port',
  ]) {
    t.is(closestName(given, known), 'TROUPE_HTTP_PORT', given);
  }
});

test('a name far from every known one has no suggestion', (t) => {
  for (const given of ['', 'x', 'TROUPE_PORT_8080_TCP_ADDR', 'model'])
    t.is(closestName(given, known), undefined, given);
  t.is(didYouMean('other', known), '');
});

test('the suggestion ends an error message', (t) => {
  t.is(didYouMean('TROUPE_SEDE', known), ' Did you mean "TROUPE_SEED"?');
});

test('several names are given nearest first, and only the near ones', (t) => {
  const models = ['sim.echo', 'openai.gpt-5-nano', 'openai.gpt-5-mini', 'openai.gpt-5'];
  t.deepEqual(closestNames('openai.gpt-5-mni', models, 3), ['openai.gpt-5-mini', 'openai.gpt-5-nano']);
  t.is(askedBack(['a']), ' Did you mean "a"?');
  t.is(askedBack(['a', 'b', 'c']), ' Did you mean "a", "b" or "c"?');
  t.is(askedBack([]), '');
});

test('long names are compared with nothing, and with no great cost', (t) => {
  const startedMs = performance.now();
  const long = 'a'.repeat(500_000);
  t.deepEqual(closestNames(long, [`${long}b`], 3), []);
  t.deepEqual(
    closestNames(
      'a'.repeat(99),
      Array.from({ length: 1_000 }, () => long),
      3,
    ),
    [],
  );
  t.true(relativeDistance(long, 'openai.gpt-5') <= 100);
  t.true(performance.now() - startedMs < 1_000);
});
