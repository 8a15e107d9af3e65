/** The check of `troupe doctor --vendors`: asks each vendor for its models, with each key of the platform. */
import type { Settings } from '../../kernel/config/index.js';
import { type Credential, listVendorModels, type VendorAdapter, VendorError } from '../../llm/index.js';
import { vendorAccess } from '../../models/calls/index.js';
import { vendorSettings } from '../node/outside-services.js';
import { reasonsOf } from './command.js';
import type { Finding } from './finding.js';

/** A vendor that needs longer for a list of models is as good as away. */
const answerMsMax = 10_000;
const atOnce = 8;

export async function checkVendors(settings: Settings): Promise<readonly Finding[]> {
  let checks: (() => Promise<Finding>)[];
  try {
    const { adapters, keys } = vendorAccess(await vendorSettings(settings));
    checks = [...adapters].flatMap(([vendor, adapter]) =>
      keys.platform(vendor).map((credential) => () => checkKey(adapter, credential)),
    );
  } catch (error) {
    return [
      { what: 'vendors', state: 'wrong', says: `${reasonsOf(error).join(': ')}; correct the named setting` },
    ];
  }
  if (checks.length === 0) {
    const says = 'no vendor has a key; set OPENAI_API_KEY or another, or let tenants bring their own';
    return [{ what: 'vendors', state: 'warning', says }];
  }
  const findings: Finding[] = [];
  for (let from = 0; from < checks.length; from += atOnce)
    for (const found of await Promise.all(checks.slice(from, from + atOnce).map((check) => check())))
      findings.push(found);
  return findings;
}

async function checkKey(adapter: VendorAdapter, credential: Credential): Promise<Finding> {
  const { vendor, baseUrl, reveal, signer, place = 'its address' } = credential;
  const what = `vendor ${vendor}`;
  try {
    const models = await listVendorModels({
      adapter,
      baseUrl,
      secret: reveal(),
      signer,
      nowMs: Date.now(),
      timeoutMs: answerMsMax,
      signal: AbortSignal.timeout(answerMsMax),
    });
    return {
      what,
      state: 'ok',
      says: `${place} works${models.length === 0 ? '' : `; ${models.length} models`}`,
    };
  } catch (error) {
    if (!(error instanceof VendorError)) throw error;
    return { what, ...verdictOf(error, place, hostOf(baseUrl)) };
  }
}

function verdictOf(error: VendorError, place: string, host: string): Omit<Finding, 'what'> {
  const status = error.status === undefined ? '' : ` with ${error.status}`;
  switch (error.failure) {
    case 'credential':
      return {
        state: 'wrong',
        says: `${place} is refused by ${host}${status}: ${error.message}; replace the key`,
      };
    case 'exhausted':
      return { state: 'wrong', says: `the credit of ${place} is used up: ${error.message}; pay the account` };
    case 'rate':
      return { state: 'warning', says: `${place} is at its limit of requests: ${error.message}` };
    case 'transport':
    case 'timeout':
      return {
        state: 'wrong',
        says: `${host} cannot be reached within ${answerMsMax / 1_000} s; check the address and the network`,
      };
    case 'overload':
      return { state: 'warning', says: `${host} answers${status}: ${error.message}; try again later` };
    default:
      // Some services list no models at the address that serves calls.
      return {
        state: 'warning',
        says: `${host} answers${status}, but lists no models; ${place} is not proved`,
      };
  }
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl;
}
