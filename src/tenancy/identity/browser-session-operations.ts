import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import { anyone, declare, done, doneShape, JsonReply, type Operation } from '../../http/operations/index.js';
import type { Accounts } from './accounts.js';
import { givenPassword } from './fields.js';
import { type RegistrationRule, registrationPolicies } from './registration.js';
import type { OutsideCode } from './outside-code.js';
import { ownTenantShape, type SignedIn, tokenPairShape, userShape } from './shapes.js';
import { familyLifetimeMs, type TokenFamilies } from './token-families.js';

/**
 * The sign-in of a browser. The refresh token is in a cookie that no script reads, so a reload keeps the sign-in; the
 * access token is in the memory of the page. The cookie goes to these operations only. A request of another site does not
 * carry it (`SameSite`), and is refused for its origin besides.
 */
const cookieName = 'troupe_session';
const cookiePath = '/api/console/session';

const sessionShape = z.object({
  user: userShape,
  tenants: z.array(ownTenantShape),
  ...tokenPairShape.omit({ refresh_token: true }).shape,
});
const ways = z.union([
  z.strictObject({ email: z.string().min(1).max(254), password: givenPassword }),
  z.strictObject({ refresh_token: z.string().min(1).max(512) }),
  z.strictObject({
    code: z.string().min(1).max(4_096).describe('The authorization code of the issuer.'),
    code_verifier: z.string().min(43).max(128),
    nonce: z.string().min(16).max(128),
  }),
]);
const read = ['cookie', 'origin', 'host', 'sec-fetch-site'] as const;
type Headers = Readonly<Record<string, string>>;

export interface BrowserSessionParts {
  readonly accounts: Pick<Accounts, 'signIn' | 'signInAs' | 'overview'>;
  readonly families: Pick<TokenFamilies, 'end' | 'renewAccess' | 'refresh'>;
  readonly publicUrl: () => string;
  readonly registration: RegistrationRule['policy'];
  /** Whether tenants need an owner with a verified address. */
  readonly verifyEmail: boolean;
  /** Undefined where no issuer signs people in. */
  readonly outsideCode: OutsideCode | undefined;
}

export function browserSessionOperations(parts: BrowserSessionParts): readonly Operation[] {
  return [waysOperation(parts), openOperation(parts), renewOperation(parts), endOperation(parts)];
}

function waysOperation({ registration, verifyEmail, outsideCode }: BrowserSessionParts): Operation {
  return declare({
    name: 'console-session.ways',
    method: 'GET',
    path: '/api/console/sign-in',
    title: 'How people sign in and register here',
    access: anyone(),
    output: z.object({
      success: z.literal(true),
      data: z.object({
        registration: z.enum(registrationPolicies),
        verifies_addresses: z.boolean(),
        oidc: z
          .object({ authorization_endpoint: z.string(), client_id: z.string(), redirect_uri: z.string() })
          .nullable()
          .describe(
            'The issuer that signs people in. Null where there is none, or where it cannot be reached.',
          ),
      }),
    }),
    handle: async () => {
      // People with a password sign in while the issuer is away.
      const oidc = (await outsideCode?.way().catch(() => undefined)) ?? null;
      return { success: true as const, data: { registration, verifies_addresses: verifyEmail, oidc } };
    },
  });
}

function openOperation({ accounts, families, publicUrl, outsideCode }: BrowserSessionParts): Operation {
  return declare({
    name: 'console-session.open',
    method: 'POST',
    audit: { exempt: 'a sign-in changes nothing; failed ones are counted' },
    path: cookiePath,
    title: 'Sign a browser in',
    description:
      'With `email` and `password`, or with the `refresh_token` of another kind of sign-in, which is used up, or with the `code` of the issuer that signs people in. The refresh token goes into an HttpOnly cookie and is not in the answer.',
    access: anyone(),
    body: ways,
    headers: read,
    output: z.object({ success: z.literal(true), data: sessionShape }),
    errors: ['invalid_credentials', 'invalid_token', 'rate_limit_exceeded', 'service_unavailable'],
    handle: async ({ body, caller, headers }) => {
      refuseOtherOrigins(headers, publicUrl());
      const signedIn = await signedInBy(body, caller.address, tokenOf(headers));
      const { refresh_token: token, ...data } = signedIn;
      return new JsonReply({ success: true as const, data }, 200, cookieWith(token, publicUrl()));
    },
  });

  async function signedInBy(
    body: z.output<typeof ways>,
    address: string,
    known: string | undefined,
  ): Promise<SignedIn['data']> {
    if ('email' in body) return (await accounts.signIn(body.email, body.password, address, known)).data;
    if ('refresh_token' in body) return takeOver(body.refresh_token);
    if (outsideCode === undefined)
      throw new PlatformError('invalid_token', { message: 'No issuer signs people in here.' });
    const { code, code_verifier: verifier, nonce } = body;
    return (await accounts.signInAs(await outsideCode.userOf({ code, verifier, nonce }), address)).data;
  }

  /** The token that scripts have seen is used up: only the cookie holds the next one. */
  async function takeOver(refreshToken: string): Promise<SignedIn['data']> {
    const pair = await families.refresh(refreshToken);
    const { userId } = await families.renewAccess(pair.refresh_token);
    return { ...(await accounts.overview(userId)), ...pair };
  }
}

function renewOperation({ accounts, families, publicUrl }: BrowserSessionParts): Operation {
  return declare({
    name: 'console-session.renew',
    method: 'POST',
    audit: { exempt: 'a renewal continues the sign-in that has its entry' },
    path: `${cookiePath}/refresh`,
    title: 'Get an access token for the cookie of a browser',
    description:
      'The cookie stays as it is, so that several pages, and a page that was reloaded before the answer arrived, keep one sign-in. `data` is null for a browser that is not signed in.',
    access: anyone(),
    headers: read,
    output: z.object({ success: z.literal(true), data: sessionShape.nullable() }),
    handle: async ({ headers }) => {
      refuseOtherOrigins(headers, publicUrl());
      const token = tokenOf(headers);
      if (token === undefined) return new JsonReply({ success: true as const, data: null }, 200, unkept);
      try {
        const { userId, ...access } = await families.renewAccess(token);
        const data = { ...(await accounts.overview(userId)), ...access };
        return new JsonReply({ success: true as const, data }, 200, unkept);
      } catch (error) {
        // The sign-in has ended. A page that starts is told so as a fact; it is no fault of the request.
        if (!(error instanceof PlatformError) || error.code !== 'invalid_token') throw error;
        return new JsonReply({ success: true as const, data: null }, 200, cookieWith('', publicUrl()));
      }
    },
  });
}

function endOperation({ families, publicUrl }: BrowserSessionParts): Operation {
  return declare({
    name: 'console-session.end',
    method: 'DELETE',
    audit: { exempt: 'a sign-out ends the one sign-in that asks for it' },
    path: cookiePath,
    title: 'Sign a browser out',
    description: 'Ends the sign-in of the cookie, with its access tokens, and removes the cookie.',
    access: anyone(),
    headers: read,
    output: doneShape,
    handle: async ({ headers }) => {
      refuseOtherOrigins(headers, publicUrl());
      const token = tokenOf(headers);
      try {
        if (token !== undefined) await families.end(token);
      } catch (error) {
        // An unknown token has nothing to end; the cookie is removed all the same.
        if (!(error instanceof PlatformError) || error.code !== 'invalid_token') throw error;
      }
      return new JsonReply(done('Signed out.'), 200, cookieWith('', publicUrl()));
    },
  });
}

const unkept = { 'Cache-Control': 'no-store' } as const;

/** Keeps the token in the browser; an empty one removes the cookie. */
function cookieWith(token: string, publicUrl: string): Readonly<Record<string, string>> {
  const parts = [
    `${cookieName}=${token}`,
    `Path=${cookiePath}`,
    `Max-Age=${token === '' ? 0 : Math.floor(familyLifetimeMs / 1_000)}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(publicUrl.startsWith('https:') ? ['Secure'] : []),
  ];
  return { ...unkept, 'Set-Cookie': parts.join('; ') };
}

function tokenOf(headers: Headers): string | undefined {
  const pair = (headers['cookie'] ?? '')
    .split(';')
    .map((entry) => entry.trim())
    .find((entry) => entry.startsWith(`${cookieName}=`));
  const token = pair?.slice(cookieName.length + 1) ?? '';
  return token === '' || token.length > 512 ? undefined : token;
}

/**
 * Browsers name the origin of every request that is not a plain GET. A client that names none, and no site, is no browser,
 * and no page can make it send its cookie.
 */
function refuseOtherOrigins(headers: Headers, publicUrl: string): void {
  const origin = headers['origin'] ?? '';
  const site = headers['sec-fetch-site'] ?? '';
  const isOwn =
    origin === '' ? site === '' || site === 'same-origin' : isThisNode(origin, headers, publicUrl);
  if (isOwn) return;
  throw new PlatformError('insufficient_permissions', {
    message: 'Only pages of this address may use the sign-in of a browser.',
    details: { origin },
  });
}

function isThisNode(origin: string, headers: Headers, publicUrl: string): boolean {
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === headers['host'] || origin === new URL(publicUrl).origin;
}
