import type { HttpRequest } from 'uWebSockets.js';

/** Headers by which proxies say that they pass a request on; every name that begins with `x-forwarded` is one too. */
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

/** True for a request that a proxy passed on. It comes from elsewhere, whatever its socket's address is. */
export function isForwarded(request: HttpRequest): boolean {
  let forwarded = false;
  request.forEach((name) => {
    if (name.startsWith('x-forwarded') || names.has(name)) forwarded = true;
  });
  return forwarded;
}

/** Proxies that a deployment forgot to trust nearly always send one of these. */
const noticed = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;
/** Anybody can send such a header, so anybody could fill the log without this. */
const noticeEveryMs = 3_600_000;

export interface UntrustedForwarding {
  readonly header: string;
  /** Of the socket: the proxy's, where there is one. */
  readonly address: string;
}

/** Tells at most once an hour that requests carry forwarding headers although no proxy is trusted. */
export class ForwardingNotice {
  readonly #tell: (seen: UntrustedForwarding) => void;
  #nextAtMs = -Infinity;

  constructor(tell: (seen: UntrustedForwarding) => void) {
    this.#tell = tell;
  }

  look(request: HttpRequest, address: string, nowMs: number): void {
    if (nowMs < this.#nextAtMs) return;
    const header = noticed.find((name) => request.getHeader(name) !== '');
    if (header === undefined) return;
    this.#nextAtMs = nowMs + noticeEveryMs;
    this.#tell({ header, address });
  }
}
