import ipaddr from 'ipaddr.js';
import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { Budget } from '../../kernel/budget.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Ready } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';

/** What a key may ask for, and spend. */
export interface KeyRules {
  /** Ids of models, or prefixes that end with `*`; null allows all. */
  readonly allowedModels: readonly string[] | null;
  readonly budget: Budget | null;
}

export type AddressRange = ReturnType<typeof ipaddr.parseCIDR>;

/** Null unless the text is a CIDR, or an address, which stands for itself alone. */
export function rangeFrom(text: string): AddressRange | null {
  const whole =
    ipaddr.isValid(text) && !text.includes('/') ? `${text}/${text.includes(':') ? 128 : 32}` : text;
  if (!whole.includes(':') && !ipaddr.IPv4.isValidCIDRFourPartDecimal(whole)) return null;
  return ipaddr.isValidCIDR(whole) ? ipaddr.parseCIDR(whole) : null;
}

export function rangesFrom(texts: readonly string[]): readonly AddressRange[] {
  return texts.map(rangeFrom).filter((range) => range !== null);
}

export function holdsAddress(ranges: readonly AddressRange[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const client = ipaddr.process(address);
  return ranges.some(([base, bits]) => client.kind() === base.kind() && client.match([base, bits] as never));
}

/** Throws `address_not_allowed` unless one of the ranges holds the client's address. */
export function requireAddress(ranges: readonly AddressRange[], address: string): void {
  if (holdsAddress(ranges, address)) return;
  throw new PlatformError('address_not_allowed', {
    message: `This API key may not be used from the address ${address}. Use an address of its allowed_ips.`,
    details: { address },
  });
}

export interface KeyRulesParts {
  /** The rules of a key that this node has cached and may trust. */
  readonly known: (keyId: string) => KeyRules | undefined;
  /** Null if the tenant has no such key. */
  readonly find: (scope: TenantScope, keyId: string) => Promise<KeyRules | null>;
  readonly isFresh: () => boolean;
  readonly keysMax: number;
}

/** The rules of keys for work that goes on after their requests, on whichever node it runs. */
export class KeyRulesOf {
  readonly #parts: KeyRulesParts;
  readonly #kept: LRUCache<string, KeyRules>;
  #drops = 0;

  constructor(parts: KeyRulesParts) {
    this.#parts = parts;
    this.#kept = recentEntries(parts.keysMax);
  }

  get(scope: TenantScope, keyId: string): Ready<KeyRules> {
    const { known, isFresh } = this.#parts;
    const found = isFresh() ? (known(keyId) ?? this.#kept.get(nameOf(scope, keyId))) : undefined;
    return found ?? this.#load(scope, keyId);
  }

  drop(tenantId: string | null, keyId: string): void {
    this.#drops += 1;
    if (tenantId !== null) this.#kept.delete(`${tenantId}/${keyId}`);
  }

  dropAll(): void {
    this.#drops += 1;
    this.#kept.clear();
  }

  async #load(scope: TenantScope, keyId: string): Promise<KeyRules> {
    const dropsBefore = this.#drops;
    const rules = (await this.#parts.find(scope, keyId)) ?? noRules;
    // A change during the query may be missing from its result.
    if (dropsBefore === this.#drops && this.#parts.isFresh()) this.#kept.set(nameOf(scope, keyId), rules);
    return rules;
  }
}

const noRules: KeyRules = { allowedModels: null, budget: null };

function nameOf({ tenantId }: TenantScope, keyId: string): string {
  return `${tenantId}/${keyId}`;
}
