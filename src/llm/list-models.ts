import { request } from 'undici';
import { isRecord, parseJson } from './reply-json.js';
import { VendorError } from './vendor-error.js';
import type { VendorAdapter } from './vendor.js';

export interface ModelListRequest {
  readonly adapter: VendorAdapter;
  /** In the format of the vendor's own SDK. */
  readonly baseUrl: string;
  readonly secret: string | undefined;
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

async function ask({ adapter, baseUrl, secret, nowMs, timeoutMs, signal }: ModelListRequest) {
  const { statusCode, headers, body } = await request(baseUrl.replace(/\/+$/, '') + adapter.modelsPath, {
    headers: { accept: 'application/json', ...adapter.authorization(secret) },
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

/** `{data: [{id}]}`, or Google's `{models: [{name: "models/…"}]}`. */
function namesIn(reply: unknown): readonly string[] {
  const entries = isRecord(reply) ? (reply['data'] ?? reply['models']) : undefined;
  if (!Array.isArray(entries)) return [];
  return entries.filter(isRecord).flatMap(({ id, name }) => {
    const found = typeof id === 'string' ? id : name;
    return typeof found === 'string' ? [found.replace(/^models\//, '')] : [];
  });
}
