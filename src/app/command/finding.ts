/** One check of `troupe doctor`: its subject, its result, and the fix if there is a problem. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  readonly says: string;
}
