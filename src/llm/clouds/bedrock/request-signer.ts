import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { RequestSigner } from '../../vendor.js';
import type { SecretReference } from '../cloud-vendor.js';

export interface AwsKeys {
  readonly accessKeyId: SecretReference;
  readonly secretAccessKey: SecretReference;
  readonly sessionToken: SecretReference | undefined;
}

/** Signature version 4. The library signs asynchronously, which costs a request some ticks and no other one anything. */
export function requestSigner(region: string, keys: AwsKeys): RequestSigner {
  const signature = new SignatureV4({
    service: 'bedrock',
    region,
    sha256: Sha256,
    credentials: () =>
      Promise.resolve({
        accessKeyId: keys.accessKeyId.reveal(),
        secretAccessKey: keys.secretAccessKey.reveal(),
        ...(keys.sessionToken !== undefined && { sessionToken: keys.sessionToken.reveal() }),
      }),
  });
  return async ({ method, origin, path, headers, body, nowMs }) => {
    const { protocol, hostname, host, port } = new URL(origin);
    const signed = await signature.sign(
      {
        method,
        protocol,
        hostname,
        ...(port !== '' && { port: Number(port) }),
        path,
        headers: { ...headers, host },
        body,
      },
      { signingDate: new Date(nowMs) },
    );
    return signed.headers;
  };
}
