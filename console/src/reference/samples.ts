import type { Operation } from './document';

/** One request as a person filled it in. Empty values are left out. */
export interface Filled {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly header: Readonly<Record<string, string>>;
  /** The text of the body; undefined if the operation has none. */
  readonly body: string | undefined;
  readonly contentType: string | undefined;
}

export const languages = ['curl', 'TypeScript', 'Python'] as const;
export type Language = (typeof languages)[number];

export type Credential = 'key' | 'token' | 'operator' | 'none';

/** The credential that the samples show: a key where one is accepted. */
export function credentialOf({ security }: Operation): Credential {
  const names = new Set(security.flatMap((scheme) => Object.keys(scheme)));
  if (names.has('apiKey')) return 'key';
  if (names.has('accessToken')) return 'token';
  return names.has('operatorToken') ? 'operator' : 'none';
}

/** Path and query with the values in them. A parameter of the path without a value keeps its braces. */
export function addressOf({ path }: Operation, filled: Filled): string {
  const place = path.replaceAll(/\{([^}]+)\}/g, (braces, name: string) => {
    const value = filled.path[name] ?? '';
    return value === '' ? braces : encodeURIComponent(value);
  });
  const query = new URLSearchParams(Object.entries(filled.query).filter(([, value]) => value !== ''));
  return query.size === 0 ? place : `${place}?${query.toString()}`;
}

const variables: Readonly<Record<Credential, readonly [header: string, variable: string] | undefined>> = {
  key: ['X-Api-Key', 'TROUPE_API_KEY'],
  token: ['Authorization', 'TROUPE_TOKEN'],
  operator: ['Authorization', 'TROUPE_OPERATOR_TOKEN'],
  none: undefined,
};

export function sampleOf(language: Language, operation: Operation, filled: Filled, origin: string): string {
  const headers = Object.entries(filled.header).filter(([, value]) => value !== '');
  if (filled.body !== undefined && filled.contentType !== undefined)
    headers.push(['Content-Type', filled.contentType]);
  const parts: Parts = {
    method: operation.method,
    url: origin + addressOf(operation, filled),
    headers,
    secret: variables[credentialOf(operation)],
    body: filled.body,
    json: filled.contentType === 'application/json' ? parsed(filled.body) : undefined,
    streams: streams(operation, filled),
  };
  if (language === 'curl') return curl(parts);
  return language === 'Python' ? python(parts) : typeScript(parts);
}

/** Whether this request is answered by a stream of events. */
export function streams({ answers }: Operation, { body }: Pick<Filled, 'body'>): boolean {
  const types = answers
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) => Object.keys(content ?? {}));
  if (!types.includes('text/event-stream')) return false;
  const asked = parsed(body);
  return (
    types.length === 1 ||
    (typeof asked === 'object' && asked !== null && Reflect.get(asked, 'stream') === true)
  );
}

interface Parts {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly secret: readonly [header: string, variable: string] | undefined;
  readonly body: string | undefined;
  /** The body as a value, if it is JSON. */
  readonly json: unknown;
  readonly streams: boolean;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Short values stay on one line. */
function written(value: unknown): string {
  const line = JSON.stringify(value);
  return line.length <= 60 ? line : JSON.stringify(value, null, 2);
}

function curl({ method, url, headers, secret, body, json, streams: isStream }: Parts): string {
  const method_ = method === 'GET' ? '' : `-X ${method} `;
  const lines = [`curl ${isStream ? '-N ' : ''}${method_}${quoted(url)}`];
  if (secret !== undefined) {
    const [header, variable] = secret;
    lines.push(`-H "${header}: ${header === 'Authorization' ? 'Bearer ' : ''}$${variable}"`);
  }
  for (const [name, value] of headers) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-d ${quoted(json === undefined ? body : written(json))}`);
  return lines.join(' \\\n  ');
}

function indented(text: string, by: string): string {
  return text.replaceAll('\n', `\n${by}`);
}

function typeScript({ method, url, headers, secret, body, json, streams: isStream }: Parts): string {
  const given = headers.map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  if (secret !== undefined) {
    const [header, variable] = secret;
    const value = `process.env.${variable}`;
    given.unshift(
      `    '${header}': ${header === 'Authorization' ? `\`Bearer \${${value}}\`` : `${value}!`},`,
    );
  }
  const content =
    json === undefined
      ? JSON.stringify(body)
      : `JSON.stringify(${indented(JSON.stringify(json, null, 2), '  ')})`;
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(given.length === 0 ? [] : ['  headers: {', ...given, '  },']),
    ...(body === undefined ? [] : [`  body: ${content},`]),
    '});',
    ...(isStream
      ? [
          'if (!response.ok) throw new Error(await response.text());',
          'for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {',
          '  process.stdout.write(piece);',
          '}',
        ]
      : [
          'const answer = await response.json();',
          'if (!response.ok) throw new Error(`${answer.error}: ${answer.message}`);',
        ]),
  ].join('\n');
}

/** JSON as Python writes it. */
function pythonOf(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((each: unknown) => `${inner}${pythonOf(each, inner)},`)
    : Object.entries(value).map(
        ([name, each]) => `${inner}${JSON.stringify(name)}: ${pythonOf(each, inner)},`,
      );
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return lines.length === 0 ? open + close : `${open}\n${lines.join('\n')}\n${indent}${close}`;
}

function python({ method, url, headers, secret, body, json, streams: isStream }: Parts): string {
  const given = headers
    // The library sets it for `json`.
    .filter(([name]) => json === undefined || name !== 'Content-Type')
    .map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  if (secret !== undefined) {
    const [header, variable] = secret;
    const value = `os.environ["${variable}"]`;
    given.unshift(
      `        "${header}": ${header === 'Authorization' ? `f"Bearer {${value}}"`.replaceAll('["', "['").replaceAll('"]', "']") : value},`,
    );
  }
  return [
    ...(secret === undefined ? [] : ['import os']),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    ${JSON.stringify(url)},`,
    ...(given.length === 0 ? [] : ['    headers={', ...given, '    },']),
    ...(body === undefined
      ? []
      : [json === undefined ? `    data=${JSON.stringify(body)},` : `    json=${pythonOf(json, '    ')},`]),
    ...(isStream ? ['    stream=True,'] : []),
    ')',
    'response.raise_for_status()',
    ...(isStream
      ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
      : ['print(response.text)']),
  ].join('\n');
}
