import { VendorError } from './vendor-error.js';
import type { RequestSigner, UnsignedRequest, VendorAdapter } from './vendor.js';

/**
 * What undici refuses in a header. It tells of it as of a connection that failed, which would count against the vendor, so
 * each value is looked at before the request is dispatched.
 */
const uncarried = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Replies are read as they come, and a server that is told nothing may compress them. Not among the headers that are
 * signed, since a proxy may change it.
 */
export const uncompressed = { 'accept-encoding': 'identity' } as const;

type HeaderValues = Readonly<Record<string, string>>;

/** The headers with the key. Throws a `VendorError` for a value that no header can carry. */
export function withKey(adapter: VendorAdapter, headers: HeaderValues, secret: string | undefined) {
  const { vendor } = adapter;
  const key = adapter.authorization(secret);
  if (uncarriedIn(key) !== undefined) {
    throw new VendorError('credential', `the key has ${what}; store it again without them`, { vendor });
  }
  const name = uncarriedIn(headers);
  if (name !== undefined) throw new VendorError('request', `${name} has ${what}`, { vendor });
  return { ...headers, ...key };
}

/** The headers of a signed request. What makes a signer's headers impossible is its credential. */
export async function signedHeaders(signer: RequestSigner, request: UnsignedRequest): Promise<HeaderValues> {
  const added = await signer(request);
  const name = uncarriedIn(added);
  if (name !== undefined) throw new Error(`${name} has ${what}`);
  return { ...request.headers, ...added };
}

const what = 'characters that a header cannot carry, such as a line break';

function uncarriedIn(headers: HeaderValues): string | undefined {
  return Object.keys(headers).find((name) => uncarried.test(headers[name] ?? ''));
}
