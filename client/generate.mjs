// Makes src/generated/ from docs/openapi.json: the types of all operations, and the methods of the client by group.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';

const page = new URL('../docs/openapi.json', import.meta.url);
const folder = fileURLToPath(new URL('src/generated/', import.meta.url));
const document = JSON.parse(readFileSync(page, 'utf8'));
const header = '// Generated from docs/openapi.json by client/generate.mjs.\n';

/** A field with a default may be left out of a request. */
const options = { defaultNonNullable: false };

/** A type that names itself in an index signature is refused by the compiler: any JSON value is `unknown`. */
function typed({ components, ...rest }) {
  return { ...rest, components: { ...components, schemas: { ...components.schemas, JsonValue: {} } } };
}

mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}openapi.ts`, header + astToString(await openapiTS(typed(document), options)));
writeFileSync(`${folder}operations.ts`, header + operationsFile());

function operationsFile() {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const kind = kindOf(operation);
      if (kind === undefined) continue;
      const [group, name] = operation.operationId.split('.').map(camel);
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push({ name, kind, path, method: method.toUpperCase(), operation });
    }
  }
  const members = [...groups].map(([group, calls]) => {
    const lines = calls.map(
      ({ name, kind, operation }) =>
        `${comment(operation)}    readonly ${name}: ${kind}<operations['${operation.operationId}']>;`,
    );
    return `  readonly ${group}: {\n${lines.join('\n')}\n  };`;
  });
  const routes = [...groups].map(([group, calls]) => {
    const lines = calls.map((call) => `    ${call.name}: [${routeOf(call).map(quoted).join(', ')}],`);
    return `  ${group}: {\n${lines.join('\n')}\n  },`;
  });
  return `import type { Call, ListCall, RawCall, Route } from '../calls.js';
import type { operations } from './openapi.js';

/** All operations whose answers are not streams, by group. */
export interface Operations {
${members.join('\n')}
}

export const routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
${routes.join('\n')}
};
`;
}

/** Pages for people, and streams, which have functions of their own, are left out. */
function kindOf(operation) {
  const [status, answer] = Object.entries(operation.responses).find(([code]) => /^[12]/.test(code)) ?? [];
  const types = Object.keys(answer?.content ?? {});
  if (status === '101' || operation.operationId.startsWith('mcp.')) return undefined;
  if (types.some((type) => /^text\/(?:html|css|javascript)/.test(type))) return undefined;
  if (types.length > 0 && types.every((type) => type.startsWith('text/event-stream'))) return undefined;
  if (types.length > 0 && !types.some((type) => type.startsWith('application/json'))) return 'RawCall';
  return hasParameter(operation, 'query', 'cursor') ? 'ListCall' : 'Call';
}

/** Method, path, credentials (k: key, u: user, o: operator), and i for those that take `Idempotency-Key`. */
function routeOf({ method, path, kind, operation }) {
  const letters = { apiKey: 'k', accessToken: 'u', operatorToken: 'o' };
  const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one));
  const flags = schemes.map((scheme) => letters[scheme] ?? '').join('');
  const idempotent = hasParameter(operation, 'header', 'idempotency-key') ? 'i' : '';
  const form = { Call: '', ListCall: 'l', RawCall: 'r' }[kind];
  return [method, path, flags + idempotent + form];
}

function hasParameter({ parameters = [] }, place, name) {
  return parameters.map(resolved).some((one) => one.in === place && one.name.toLowerCase() === name);
}

function resolved(value) {
  if (value.$ref === undefined) return value;
  return value.$ref
    .slice('#/'.length)
    .split('/')
    .reduce((found, step) => found[step.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

function comment({ summary = '', description = '' }) {
  const text = [summary, description].filter((one) => one !== '').join(' ');
  return text === '' ? '' : `    /** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`;
}

function camel(name) {
  return name.replaceAll(/[-_](\w)/g, (_, letter) => letter.toUpperCase());
}

function quoted(text) {
  return `'${text}'`;
}
