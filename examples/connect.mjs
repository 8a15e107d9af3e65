// The client of the examples: TROUPE_BASE_URL and TROUPE_API_KEY, or the node that `npm start` runs in this folder.
import { existsSync, readFileSync } from 'node:fs';
import { createClient } from '@troupe/client';

const kept = '.troupe/bootstrap.json';
const local = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {};

export const baseUrl = process.env.TROUPE_BASE_URL ?? local.base_url;
export const apiKey = process.env.TROUPE_API_KEY ?? local.api_key;
if (baseUrl === undefined || apiKey === undefined) {
  throw new Error(
    'No node is known. Run "npm start" in the root of the repository and this example beside it, or set TROUPE_BASE_URL and TROUPE_API_KEY.',
  );
}

export const troupe = createClient({ baseUrl, apiKey });

/** The address of a webhook trigger that `troupe apply` made. */
export async function webhookOf(name) {
  for await (const trigger of troupe.triggers.list()) {
    if (trigger.name === name) return `${baseUrl}/api/triggers/webhook/${trigger.id}`;
  }
  throw new Error(`There is no trigger ${name}. Apply the file of the example first, as its README says.`);
}
