/** The figures of the `X-RateLimit-*` headers. */
export interface RateFigures {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}
