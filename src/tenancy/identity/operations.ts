import { z } from 'zod';
import {
  anyone,
  declare,
  done,
  doneShape,
  JsonReply,
  one,
  oneShape,
  type Operation,
  user,
} from '../../http/operations/index.js';
import type { Accounts } from './accounts.js';
import { displayName, emailAddress, givenPassword, newPassword } from './fields.js';
import { ownTenantShape, signedInShape, tokenPairShape, userShape } from './shapes.js';
import { jwksMaxAgeSeconds, signatureAlgorithm, type SigningKeys } from './signing-keys.js';
import type { TokenFamilies } from './token-families.js';

/** Far above the length of an issued token. */
const refreshToken = z.string().min(1).max(512);

export function identityOperations(parts: {
  readonly accounts: Accounts;
  readonly families: TokenFamilies;
  readonly keys: SigningKeys;
}): readonly Operation[] {
  const { accounts, families, keys } = parts;
  return [
    declare({
      name: 'auth.register',
      method: 'POST',
      audit: { action: 'auth.register', by: 'subject' },
      idempotency: { exempt: 'an address registers once, and a repeat is told so' },
      path: '/api/auth/register',
      title: 'Register an account with its own tenant',
      access: anyone(),
      body: z.object({
        email: emailAddress,
        password: newPassword,
        name: displayName.optional(),
        tenant_name: displayName.optional(),
      }),
      output: signedInShape,
      status: 201,
      errors: ['registration_closed', 'conflict', 'service_unavailable'],
      handle: ({ body, caller }) =>
        accounts.register(
          {
            email: body.email,
            password: body.password,
            name: body.name,
            tenantName: body.tenant_name,
          },
          caller.address,
        ),
    }),
    declare({
      name: 'auth.login',
      method: 'POST',
      audit: { exempt: 'a sign-in changes nothing; failed ones are counted' },
      path: '/api/auth/login',
      title: 'Sign in with a password',
      description:
        'After 10 failed attempts for an account, or 60 from an address, within 15 minutes: 429 until one of them is older. ' +
        'A client that sends its last refresh_token of this account is not delayed by the failures of others.',
      access: anyone(),
      // Any text is accepted: an address that was never registered is a wrong sign-in like any other.
      body: z.object({
        email: z.string().min(1).max(254),
        password: givenPassword,
        refresh_token: refreshToken.optional(),
      }),
      output: signedInShape,
      errors: ['invalid_credentials', 'rate_limit_exceeded', 'service_unavailable'],
      handle: ({ body, caller }) =>
        accounts.signIn(body.email, body.password, caller.address, body.refresh_token),
    }),
    declare({
      name: 'auth.refresh',
      method: 'POST',
      audit: { exempt: 'a refresh continues the sign-in that has its entry' },
      path: '/api/auth/refresh',
      title: 'Exchange a refresh token for a new pair of tokens',
      description:
        'A refresh token works once. Using it again ends its whole family: every token of the same sign-in.',
      access: anyone(),
      body: z.object({ refresh_token: refreshToken }),
      output: oneShape(tokenPairShape),
      errors: ['invalid_token'],
      handle: async ({ body }) => one(await families.refresh(body.refresh_token)),
    }),
    declare({
      name: 'auth.logout',
      method: 'POST',
      audit: { exempt: 'a sign-out ends the one sign-in that asks for it' },
      path: '/api/auth/logout',
      title: 'Sign out',
      description: 'Ends the family of the refresh token; its access tokens stop working at once.',
      access: anyone(),
      body: z.object({ refresh_token: refreshToken }),
      output: doneShape,
      errors: ['invalid_token'],
      handle: async ({ body }) => {
        await families.end(body.refresh_token);
        return done('Signed out.');
      },
    }),
    declare({
      name: 'auth.me',
      method: 'GET',
      path: '/api/auth/me',
      title: 'The signed-in user and their tenants',
      access: user(),
      output: oneShape(z.object({ user: userShape, tenants: z.array(ownTenantShape) })),
      handle: async ({ caller }) => one(await accounts.overview(caller.userId)),
    }),
    declare({
      name: 'auth.jwks',
      method: 'GET',
      path: '/.well-known/jwks.json',
      title: 'Public keys that verify access tokens',
      access: anyone(),
      rate: 'uncounted',
      output: z.object({
        keys: z.array(
          z.object({
            kty: z.literal('OKP'),
            crv: z.literal('Ed25519'),
            x: z.string(),
            kid: z.string(),
            alg: z.literal(signatureAlgorithm),
            use: z.literal('sig'),
          }),
        ),
      }),
      handle: () =>
        new JsonReply({ keys: [...keys.published()] }, 200, {
          'Cache-Control': `public, max-age=${jwksMaxAgeSeconds}`,
        }),
    }),
  ];
}
