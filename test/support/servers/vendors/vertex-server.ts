import type { IncomingMessage } from 'node:http';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { AnthropicServer } from './anthropic-server.js';
import { GeminiServer } from './gemini-server.js';
import { bearer, type Script, type SeenRequest } from './vendor-server.js';

/** A service account with its own token service, as the key file of one names them. */
export class ServiceAccount {
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly email = 'caller@project.iam.gserviceaccount.com';
  readonly tokens = new Set<string>();
  expiresInSeconds = 3600;

  keyFile(tokenUri: string): string {
    return JSON.stringify({
      type: 'service_account',
      client_email: this.email,
      private_key: this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      private_key_id: 'key-1',
      token_uri: tokenUri,
    });
  }

  /** Gives a token for a valid statement of the account, as Google's token service does. */
  async tokenFor(body: string, audience: string): Promise<object | undefined> {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return undefined;
    const key = createPublicKey(this.#keys.publicKey.export({ type: 'spki', format: 'pem' }));
    const stated = jwtVerify(form.get('assertion') ?? '', key, { issuer: this.email, audience });
    // A statement with another signature, as of another account, is refused.
    const verified = await stated.catch(() => undefined);
    if (verified?.payload['scope'] !== 'https://www.googleapis.com/auth/cloud-platform') return undefined;
    const token = `ya29.token-${this.tokens.size + 1}`;
    this.tokens.add(token);
    return { access_token: token, expires_in: this.expiresInSeconds, token_type: 'Bearer' };
  }
}

const refused: Script = { status: 401, message: 'Request had invalid authentication credentials.' };

/** Gemini as Vertex AI serves it. */
export class VertexGeminiServer extends GeminiServer {
  override keyOf(request: IncomingMessage): string | undefined {
    return bearer(request);
  }

  override refusalOf(seen: SeenRequest): Script | undefined {
    if (/:(batchE|e)mbedContents?$/.test(seen.path))
      return { status: 404, message: 'There is no such method.' };
    return isOf(seen, 'google') ? super.refusalOf(seen) : refused;
  }

  /** Vectors, each of which begins with its number. */
  override whole(script: Script, seen: SeenRequest): unknown {
    if (!seen.path.endsWith(':predict')) return super.whole(script, seen);
    const { instances, parameters } = seen.body as {
      instances: { content: string }[];
      parameters?: { outputDimensionality?: number };
    };
    const length = parameters?.outputDimensionality ?? 4;
    const predictions = instances.map(({ content }, index) => ({
      embeddings: {
        statistics: { truncated: false, token_count: content.split(/\s+/).length },
        values: Array.from({ length }, (_, at) => (at === 0 ? index : 0.25)),
      },
    }));
    return { predictions, metadata: { billableCharacterCount: 12 } };
  }
}

/** Claude as Vertex AI serves it: the model in the path, the version in the body. */
export class VertexClaudeServer extends AnthropicServer {
  override keyOf(request: IncomingMessage): string | undefined {
    return bearer(request);
  }

  override isStream(seen: SeenRequest): boolean {
    return seen.path.endsWith(':streamRawPredict');
  }

  override refusalOf(seen: SeenRequest): Script | undefined {
    const { body } = seen;
    if (body['anthropic_version'] !== 'vertex-2023-10-16' || 'model' in body) {
      return { status: 400, message: 'anthropic_version: field required' };
    }
    return isOf(seen, 'anthropic') ? super.refusalOf(seen) : refused;
  }

  /** Refusals of the cloud itself have Google's form. */
  override errorBody(status: number, message: string): unknown {
    if (status !== 401) return super.errorBody(status, message);
    return { error: { code: status, message, status: 'UNAUTHENTICATED' } };
  }
}

function isOf({ path }: SeenRequest, publisher: string): boolean {
  return path.startsWith(`/v1/projects/project-1/locations/europe-west4/publishers/${publisher}/models/`);
}
