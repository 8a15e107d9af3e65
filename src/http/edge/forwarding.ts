import type { HttpRequest } from 'uWebSockets.js';

/** Headers that proxies add when they forward a request; so are all names that begin with `x-forwarded`. */
const names = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'x-azure-clientip',
  'x-envoy-external-address',
]);

/** True for a request that a proxy forwarded: it comes from elsewhere, whatever its socket's address is. */
export function isForwarded(request: HttpRequest): boolean {
  let forwarded = false;
  request.forEach((name) => {
    if (name.startsWith('x-forwarded') || names.has(name)) forwarded = true;
  });
  return forwarded;
}

/** Nearly every proxy that a deployment forgot to trust sends one of these. */
const noticed = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;
/** Any client can send such a header, and could otherwise fill the log. */
const noticeEveryMs = 3_600_000;

export interface UntrustedForwarding {
  readonly header: string;
  /** The address of the socket: of the proxy, if there is one. */
  readonly address: string;
}

/** Reports at most once per hour that requests carry forwarding headers although no proxy is trusted. */
export class ForwardingNotice {
  readonly #report: (seen: UntrustedForwarding) => void;
  #nextAtMs = -Infinity;

  constructor(report: (seen: UntrustedForwarding) => void) {
    this.#report = report;
  }

  check(request: HttpRequest, address: string, nowMs: number): void {
    if (nowMs < this.#nextAtMs) return;
    const header = noticed.find((name) => request.getHeader(name) !== '');
    if (header === undefined) return;
    this.#nextAtMs = nowMs + noticeEveryMs;
    this.#report({ header, address });
  }
}
