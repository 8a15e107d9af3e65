/** What was looked at, what was found, and how to mend it where it is not right. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'wrong';
  readonly says: string;
}
