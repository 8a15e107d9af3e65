// Checks signature version 4 by its definition, so that a test server refuses what Amazon would refuse.
import { createHash, createHmac } from 'node:crypto';
import type { SeenRequest } from './vendor-server.js';

const hex = (data: string): string => createHash('sha256').update(data).digest('hex');
const mac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** Why the request has no valid signature of this key; undefined if it has. */
export function signatureFault(
  { method, path, text, headers }: SeenRequest,
  keys: ReadonlyMap<string, string>,
): string | undefined {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w{64})$/.exec(
      headers.authorization ?? '',
    );
  if (given === null) return 'MissingAuthenticationTokenException';
  const [, id = '', scope = '', names = '', signature = ''] = given;
  const secret = keys.get(id);
  if (secret === undefined) return 'UnrecognizedClientException';
  if (!names.split(';').includes('host')) return 'IncompleteSignatureException';
  const at = String(headers['x-amz-date']);
  const [date = '', region = '', service = ''] = scope.split('/');
  if (!at.startsWith(date) || service !== 'bedrock') return 'IncompleteSignatureException';
  const canonical = [
    method,
    // Every service but S3 encodes the path twice.
    path
      .split('/')
      .map((one) => encodeURIComponent(one))
      .join('/'),
    '',
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names,
    hex(text),
  ].join('\n');
  const key = ['aws4_request'].reduce(mac, mac(mac(mac(`AWS4${secret}`, date), region), service));
  const toSign = ['AWS4-HMAC-SHA256', at, scope, hex(canonical)].join('\n');
  return mac(key, toSign).toString('hex') === signature ? undefined : 'InvalidSignatureException';
}
