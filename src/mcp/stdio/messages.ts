/** A message of JSON-RPC, with the fields that the bridge reads. */
export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
}

/** Undefined if the line is not a JSON object. */
export function messageOf(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Message)
      : undefined;
  } catch {
    // The caller answers with a protocol error.
    return undefined;
  }
}

export function isRequest({ id, method }: Message): boolean {
  return method !== undefined && id !== undefined;
}

export function protocolError(id: string | number | null, code: number, message: string): Message {
  return { jsonrpc: '2.0', id, error: { code, message } };
}
