/** One setting: its variable, its meaning, and the function that parses it. */
export interface Setting<Value> {
  readonly variable: string;
  readonly meaning: string;
  readonly example: string;
  /** A secret is never shown, and may be given as a file by `<variable>_FILE`. */
  readonly secret: boolean;
  /** The text used for an unset variable; undefined: the setting has no value. */
  readonly fallback: string | undefined;
  /** Throws an Error whose message says what is wrong with the text. */
  readonly parse: (text: string) => Value;
}

/** A setting that always has a value. */
export interface SettingWithDefault<Value> extends Setting<Value> {
  readonly fallback: string;
}

interface Options {
  readonly fallback?: string;
  readonly secret?: boolean;
}

export function setting<Value>(
  variable: string,
  meaning: string,
  example: string,
  parse: (text: string) => Value,
  options: Options & { readonly fallback: string },
): SettingWithDefault<Value>;
export function setting<Value>(
  variable: string,
  meaning: string,
  example: string,
  parse: (text: string) => Value,
  options?: Options,
): Setting<Value>;
export function setting<Value>(
  variable: string,
  meaning: string,
  example: string,
  parse: (text: string) => Value,
  options: Options = {},
): Setting<Value> {
  return { variable, meaning, example, parse, secret: options.secret ?? false, fallback: options.fallback };
}

export function text(value: string): string {
  if (value.trim() === '') throw new Error('is empty');
  return value;
}

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value.trim()) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

export function oneOf<const Names extends readonly string[]>(
  ...names: Names
): (value: string) => Names[number] {
  return (value) => {
    if (!names.includes(value)) throw new Error(`must be one of ${names.join(', ')}`);
    return value;
  };
}

export function flag(value: string): boolean {
  const known: Record<string, boolean> = {
    on: true,
    true: true,
    '1': true,
    off: false,
    false: false,
    '0': false,
  };
  const found = known[value.toLowerCase()];
  if (found === undefined) throw new Error('must be on or off');
  return found;
}

export function listOf<Item>(parse: (item: string) => Item): (value: string) => readonly Item[] {
  return (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => parse(item));
}

/** A URL of one of the given schemes, without the slash at its end. */
export function address(...schemes: readonly string[]): (value: string) => string {
  const asWritten = exactAddress(...schemes);
  return (value) => asWritten(value).replace(/\/+$/, '');
}

/** A URL, unchanged: issuers are compared letter by letter, and many issuer names end in a slash. */
export function exactAddress(...schemes: readonly string[]): (value: string) => string {
  return (value) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url === undefined || !schemes.includes(url.protocol.slice(0, -1))) {
      throw new Error(
        `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
      );
    }
    return value;
  };
}

export function origin(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || url.origin !== value) throw new Error(`contains ${value}, which is not an origin`);
  return value;
}

export function base64Bytes(length: number): (value: string) => Uint8Array {
  return (value) => {
    const bytes = Buffer.from(value.trim(), 'base64');
    if (!/^[A-Za-z0-9+/_=-]+$/.test(value.trim()) || bytes.length !== length) {
      throw new Error(`must be ${length} bytes in base64`);
    }
    return bytes;
  };
}
