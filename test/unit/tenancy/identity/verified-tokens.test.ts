import test from 'ava';
import { UnsecuredJWT } from 'jose';
import { createVerifiedTokens } from '../../../../src/tenancy/identity/verified-tokens.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const issuer = 'https://login.example.com';

test('a token of an outside issuer is checked again in time, also by a wall clock that was set back', async (t) => {
  const time = new ManualTime('2026-11-23T12:00:00Z');
  let checks = 0;
  const expiresAtMs = time.wallMs() + 3_600_000;
  const tokens = createVerifiedTokens({
    outsideIssuer: { issuer },
    signInOutside: async () => {
      checks += 1;
      return { userId: 'u', expiresAtMs };
    },
    time,
    isFresh: () => true,
  } as never);
  const bearer = new UnsecuredJWT({}).setIssuer(issuer).encode();
  await tokens.verify(bearer);
  time.setWall('2026-11-23T11:00:00Z');
  time.advance(299_000);
  await tokens.verify(bearer);
  t.is(checks, 1);
  time.advance(1_000);
  await tokens.verify(bearer);
  t.is(checks, 2);
  time.setWall('2026-11-23T13:00:00Z');
  await tokens.verify(bearer);
  t.is(checks, 3, 'expired');
});
