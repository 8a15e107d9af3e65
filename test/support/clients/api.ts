/** A JSON API as its clients see it. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
  /** The value at a dotted path of the body, or undefined. */
  at(path: string): unknown;
  /** The text at a dotted path; throws where there is none. */
  textAt(path: string): string;
}

export interface ApiCall {
  readonly token?: string | undefined;
  readonly tenant?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Api = ReturnType<typeof apiAt>;

export function apiAt(url: string) {
  const call = async (method: string, path: string, body: unknown, options: ApiCall): Promise<ApiAnswer> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...(options.tenant === undefined ? {} : { 'x-tenant-id': options.tenant }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      // fetch itself says only that it failed.
      const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : cause;
      throw new Error(`${method} ${path}: ${String(reason)}`, { cause });
    });
    return answerOf(response, await response.text());
  };
  return {
    get: (path: string, options: ApiCall = {}) => call('GET', path, undefined, options),
    post: (path: string, body: unknown, options: ApiCall = {}) => call('POST', path, body, options),
    patch: (path: string, body: unknown, options: ApiCall = {}) => call('PATCH', path, body, options),
    delete: (path: string, options: ApiCall & { readonly body?: unknown } = {}) =>
      call('DELETE', path, options.body, options),
  };
}

function answerOf({ status, headers }: Response, text: string): ApiAnswer {
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  const body: unknown = isJson ? JSON.parse(text) : undefined;
  const at = (path: string): unknown => {
    let value = body;
    for (const step of path.split('.')) {
      if (typeof value !== 'object' || value === null) return undefined;
      value = Reflect.get(value, step);
    }
    return value;
  };
  return {
    status,
    headers,
    text,
    body,
    at,
    textAt(path) {
      const value = at(path);
      if (typeof value !== 'string') throw new Error(`no text at ${path} of ${status} ${text}`);
      return value;
    },
  };
}
