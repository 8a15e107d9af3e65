import { importPKCS8, SignJWT } from 'jose';
import { request } from 'undici';
import { z } from 'zod';
import { failureByStatus } from '../../failure-class.js';
import { uncompressed } from '../../header-values.js';
import { isRecord, parseJson } from '../../reply-json.js';
import { TokenServiceError } from '../../unsignable.js';
import type { RequestSigner } from '../../vendor.js';
import type { SecretReference } from '../cloud-vendor.js';

const accountFile = z.object({
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }).default('https://oauth2.googleapis.com/token'),
});
type Account = z.output<typeof accountFile>;

const tokenReply = z.object({ access_token: z.string().min(1), expires_in: z.number().min(1) });

const scope = 'https://www.googleapis.com/auth/cloud-platform';
/** What a statement of the account is valid for; the longest that Google takes. */
const statementSeconds = 3600;
/** A token is renewed this long before its end, so that no request carries one that ends on the way. */
const renewalMs = 60_000;
const requestMs = 10_000;
const replyCharsMax = 64 * 1024;

interface Token {
  readonly value: string;
  readonly endsAtMs: number;
}

/**
 * Signs with the tokens of a Google service account. A token is fetched when the first request needs it, and one fetch
 * serves all requests that wait. Throws if the reference holds no account; the message holds no secret. Only a refusal by the
 * service is the account's fault.
 */
export function tokenSigner({ place, reveal }: SecretReference): RequestSigner {
  const account = accountIn(place, reveal());
  let token: Token | undefined;
  let fetching: Promise<Token> | undefined;
  return async ({ nowMs }) => {
    if (token === undefined || token.endsAtMs - renewalMs <= nowMs) {
      fetching ??= fetchToken(account, nowMs).finally(() => {
        fetching = undefined;
      });
      token = await fetching;
    }
    return { authorization: `Bearer ${token.value}` };
  };
}

function accountIn(place: string, text: string): Account {
  const given = parseJson(text);
  const account = accountFile.safeParse(given);
  if (account.success) return account.data;
  const fields = isRecord(given) ? account.error.issues.map(({ path }) => path.join('.')).join(', ') : '';
  const problem = fields === '' ? 'does not hold JSON' : `has no valid ${fields}`;
  throw new Error(`${place} ${problem}. Give the key file of a Google service account.`);
}

async function fetchToken(account: Account, nowMs: number): Promise<Token> {
  const { client_email: email, private_key_id: keyId, token_uri: address } = account;
  const seconds = Math.floor(nowMs / 1000);
  const statement = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
    .setIssuer(email)
    .setAudience(address)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + statementSeconds)
    .sign(await importPKCS8(account.private_key, 'RS256'));
  const { status, text } = await answerTo(statement, address);
  const reply = tokenReply.safeParse(parseJson(text));
  if (status !== 200 || !reply.success) {
    const problem = `the service account ${email} got no token: status ${status}`;
    throw isRefusal(status) ? new Error(problem) : new TokenServiceError(failureByStatus(status), problem);
  }
  return { value: reply.data.access_token, endsAtMs: nowMs + reply.data.expires_in * 1000 };
}

/** A wrong account is a bad request to this service; too many requests, or too slow ones, are no fault of the account. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

async function answerTo(
  statement: string,
  address: string,
): Promise<{ readonly status: number; readonly text: string }> {
  let text = '';
  try {
    const { statusCode, body } = await request(address, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...uncompressed },
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: statement,
      }).toString(),
      headersTimeout: requestMs,
      bodyTimeout: requestMs,
    });
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk as string;
      if (text.length > replyCharsMax) break;
    }
    if (text.length <= replyCharsMax) return { status: statusCode, text };
  } catch (cause) {
    throw new TokenServiceError('transport', 'the service that gives out tokens could not be reached', {
      cause,
    });
  }
  throw new TokenServiceError('nonsense', 'the answer with the token is too long');
}
