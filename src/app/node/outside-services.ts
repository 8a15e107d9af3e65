/** Reads the settings of external services: the model vendors and the token issuer. */
import { readFile } from 'node:fs/promises';
import type { AccessSettings } from '../../models/calls/index.js';
import { readSecretAt, type Settings } from '../../kernel/config/index.js';
import {
  builtInModels,
  type CloudVendor,
  type ModelsFile,
  parseModelsFile,
  parseVendorsFile,
  type PlatformKey,
  readCompatibleVendors,
} from '../../llm/index.js';

export async function vendorSettings(settings: Settings): Promise<AccessSettings> {
  const { modelsFile, vendorsFile, compatibleVendors } = settings;
  return {
    vendors: {
      openai: {
        apiKeys: keysOf('OPENAI', settings.openaiKey, settings.openaiKeys),
        baseUrl: settings.openaiBaseUrl,
      },
      anthropic: {
        apiKeys: keysOf('ANTHROPIC', settings.anthropicKey, settings.anthropicKeys),
        baseUrl: settings.anthropicBaseUrl,
      },
      google: {
        apiKeys: keysOf('GEMINI', settings.geminiKey, settings.geminiKeys),
        baseUrl: settings.geminiBaseUrl,
      },
      xai: { apiKeys: keysOf('XAI', settings.xaiKey, settings.xaiKeys), baseUrl: settings.xaiBaseUrl },
      openrouter: {
        apiKeys: keysOf('OPENROUTER', settings.openrouterKey, settings.openrouterKeys),
        baseUrl: settings.openrouterBaseUrl,
      },
    },
    compatible: compatibleVendors === undefined ? [] : readCompatibleVendors(compatibleVendors),
    clouds: vendorsFile === undefined ? [] : await cloudsOf(vendorsFile),
    ...(modelsFile === undefined ? { models: [], aliases: {} } : await modelsOf(modelsFile)),
    sim: settings.sim ?? settings.seed === 'demo',
  };
}

/** The keys of a vendor, each with the setting that holds it, for the log. */
function keysOf(prefix: string, only: string | undefined, several: readonly string[] = []): PlatformKey[] {
  const first = only === undefined ? [] : [{ place: `${prefix}_API_KEY`, value: only }];
  return [
    ...first,
    ...several.map((value, index) => ({ place: `${prefix}_API_KEYS, key ${index + 1}`, value })),
  ];
}

async function modelsOf(path: string): Promise<ModelsFile> {
  return parseModelsFile(`TROUPE_MODELS_FILE (${path})`, await textOf('TROUPE_MODELS_FILE', path));
}

async function cloudsOf(path: string): Promise<readonly CloudVendor[]> {
  return parseVendorsFile(`TROUPE_VENDORS_FILE (${path})`, await textOf('TROUPE_VENDORS_FILE', path), {
    known: builtInModels(),
    resolve: readSecretAt,
  });
}

async function textOf(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`the file in ${variable} (${path}) cannot be read`, { cause });
  }
}

/** The client by which people sign in to the console at the issuer. */
export function outsideClientOf({ oidcIssuer, oidcClientId, oidcClientSecret }: Settings) {
  if (oidcClientId === undefined) return undefined;
  if (oidcIssuer === undefined) throw new Error('TROUPE_OIDC_CLIENT_ID needs TROUPE_OIDC_ISSUER');
  return { issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret };
}

export function outsideIssuerOf({ oidcIssuer, oidcAudience }: Settings) {
  if (oidcIssuer === undefined && oidcAudience === undefined) return undefined;
  // Without an audience, tokens that the issuer made for other products would be valid here too.
  if (oidcIssuer === undefined || oidcAudience === undefined) {
    throw new Error('TROUPE_OIDC_ISSUER and TROUPE_OIDC_AUDIENCE must be set together');
  }
  return { issuer: oidcIssuer, audience: oidcAudience };
}
