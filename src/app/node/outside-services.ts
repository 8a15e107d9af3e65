/** Reads the settings of external services: the model vendors and the token issuer. */
import { readFile } from 'node:fs/promises';
import type { AccessSettings } from '../../models/calls/index.js';
import type { Settings } from '../../kernel/config/index.js';
import { type ModelsFile, parseModelsFile, readCompatibleVendors } from '../../llm/index.js';

export async function vendorSettings(settings: Settings): Promise<AccessSettings> {
  const { modelsFile, compatibleVendors } = settings;
  return {
    vendors: {
      openai: { apiKey: settings.openaiKey, baseUrl: settings.openaiBaseUrl },
      anthropic: { apiKey: settings.anthropicKey, baseUrl: settings.anthropicBaseUrl },
      google: { apiKey: settings.geminiKey, baseUrl: settings.geminiBaseUrl },
      xai: { apiKey: settings.xaiKey, baseUrl: settings.xaiBaseUrl },
      openrouter: { apiKey: settings.openrouterKey, baseUrl: settings.openrouterBaseUrl },
    },
    compatible: compatibleVendors === undefined ? [] : readCompatibleVendors(compatibleVendors),
    ...(modelsFile === undefined ? { models: [], aliases: {} } : await modelsOf(modelsFile)),
    sim: settings.sim ?? settings.seed === 'demo',
  };
}

async function modelsOf(path: string): Promise<ModelsFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`the file in TROUPE_MODELS_FILE (${path}) cannot be read`, { cause });
  }
  return parseModelsFile(`TROUPE_MODELS_FILE (${path})`, text);
}

export function outsideIssuerOf({ oidcIssuer, oidcAudience }: Settings) {
  if (oidcIssuer === undefined && oidcAudience === undefined) return undefined;
  // Without an audience, tokens that the issuer made for other products would be valid here too.
  if (oidcIssuer === undefined || oidcAudience === undefined) {
    throw new Error('TROUPE_OIDC_ISSUER and TROUPE_OIDC_AUDIENCE must be set together');
  }
  return { issuer: oidcIssuer, audience: oidcAudience };
}
