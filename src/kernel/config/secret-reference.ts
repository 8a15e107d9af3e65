import { readFileSync } from 'node:fs';

/** Where a configuration file keeps a secret: outside of itself. */
export type SecretPlace = { readonly env: string } | { readonly file: string };

export interface ReferencedSecret {
  readonly place: string;
  /** A function, so that no printed value shows the secret. */
  readonly reveal: () => string;
}

/** Read once, at the start: what is missing is found then, and no request waits for a disk. */
export function readSecretAt(at: SecretPlace): ReferencedSecret {
  const place = 'env' in at ? `the variable ${at.env}` : `the file ${at.file}`;
  const secret = ('env' in at ? (process.env[at.env] ?? '') : textOf(at.file)).trim();
  if (secret === '') throw new Error(`${place} is missing or empty`);
  return { place, reveal: () => secret };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`the file ${path} cannot be read`, { cause });
  }
}
