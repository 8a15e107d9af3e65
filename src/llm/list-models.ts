import { request } from 'undici';
import { signedHeaders, uncompressed, withKey } from './header-values.js';
import { isRecord, parseJson } from './reply-json.js';
import { unsignable } from './unsignable.js';
import { VendorError } from './vendor-error.js';
import type { RequestSigner, UnsignedRequest, VendorAdapter } from './vendor.js';

export interface ModelListRequest {
  readonly adapter: VendorAdapter;
  /** In the format of the vendor's own SDK. */
  readonly baseUrl: string;
  readonly secret: string | undefined;
  /** Signs the request, for vendors to which no fixed header is enough. */
  readonly signer?: RequestSigner | undefined;
  readonly nowMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const bodyBytesMax = 4 * 1024 * 1024;

/** Asks a vendor for its models: the cheapest request that a wrong key fails. Rejects with a `VendorError`. */
export async function listVendorModels(wanted: ModelListRequest): Promise<readonly string[]> {
  const { adapter, secret } = wanted;
  try {
    return await ask(wanted);
  } catch (error) {
    const failure =
      error instanceof VendorError
        ? error
        : new VendorError('transport', 'the vendor could not be reached', {
            vendor: adapter.vendor,
            cause: error,
          });
    throw secret === undefined ? failure : failure.without(secret);
  }
}

async function ask({ adapter, baseUrl, secret, signer, nowMs, timeoutMs, signal }: ModelListRequest) {
  const base = adapter.modelsBase?.(baseUrl) ?? baseUrl;
  const url = new URL(base.replace(/\/+$/, '') + adapter.modelsPath);
  const unsigned: UnsignedRequest = {
    method: 'GET',
    origin: url.origin,
    path: url.pathname + url.search,
    headers: withKey(adapter, { accept: 'application/json' }, secret),
    body: '',
    nowMs,
  };
  const { statusCode, headers, body } = await request(url, {
    headers: {
      ...(signer === undefined ? unsigned.headers : await signed(signer, unsigned, adapter.vendor)),
      ...uncompressed,
    },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    signal,
  });
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > bodyBytesMax)
      throw new VendorError('nonsense', 'the list is too long', { vendor: adapter.vendor });
  }
  if (statusCode !== 200) throw adapter.mapError({ status: statusCode, headers, body: text, nowMs });
  return namesIn(parseJson(text));
}

async function signed(signer: RequestSigner, unsigned: UnsignedRequest, vendor: string) {
  try {
    return await signedHeaders(signer, unsigned);
  } catch (cause) {
    throw unsignable(vendor, cause);
  }
}

/** `{data: [{id}]}`, Google's `{models: [{name: "models/…"}]}`, Bedrock's `{modelSummaries: [{modelId}]}`. */
function namesIn(reply: unknown): readonly string[] {
  const entries = isRecord(reply)
    ? (reply['data'] ?? reply['models'] ?? reply['modelSummaries'] ?? reply['publisherModels'])
    : undefined;
  if (!Array.isArray(entries)) return [];
  return entries.filter(isRecord).flatMap(({ id, modelId, name }) => {
    const found = typeof id === 'string' ? id : (modelId ?? name);
    return typeof found === 'string' ? [found.replace(/^models\//, '')] : [];
  });
}
