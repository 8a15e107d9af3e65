import test from 'ava';
import { closestName, didYouMean } from '../../../src/kernel/closest-name.js';

const known = ['TROUPE_HTTP_PORT', 'TROUPE_GRPC_PORT', 'TROUPE_SEED'];

test('a name with a letter missing, added, changed or swapped means the closest known name', (t) => {
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

test('a name that is not near any known one has no suggestion', (t) => {
  for (const given of ['', 'x', 'TROUPE_PORT_8080_TCP_ADDR', 'model'])
    t.is(closestName(given, known), undefined, given);
  t.is(didYouMean('other', known), '');
});

test('the suggestion ends an error message', (t) => {
  t.is(didYouMean('TROUPE_SEDE', known), ' Did you mean "TROUPE_SEED"?');
});
