export interface GrpcTls {
  readonly ca: Uint8Array;
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
  /** The name in the peers' certificates, if it is not their address. */
  readonly serverName?: string;
}

/** The certificate of a running process, which its host may replace: open links go on, new ones use the newest. */
export class RenewableTls {
  readonly #renewed = new Set<(tls: GrpcTls) => void>();
  #current: GrpcTls;

  constructor(first: GrpcTls) {
    this.#current = first;
  }

  get current(): GrpcTls {
    return this.#current;
  }

  renew(next: GrpcTls): void {
    this.#current = next;
    for (const renewed of this.#renewed) renewed(next);
  }

  /** Calls at each renewal, until the returned function is called. */
  onRenewed(renewed: (tls: GrpcTls) => void): () => void {
    this.#renewed.add(renewed);
    return () => this.#renewed.delete(renewed);
  }
}
