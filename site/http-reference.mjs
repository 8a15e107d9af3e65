// One page for each tag of the OpenAPI document: operations with parameters, bodies, answers and errors.
export function httpPages(document) {
  return document.tags.map(({ name, description }) => [name, pageOf(document, name, description)]);
}

function pageOf(document, tag, description) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags?.includes(tag))
      .map(([method, operation]) => operationPart(document, `${method.toUpperCase()} ${path}`, operation)),
  );
  return [`# HTTP: ${tag}`, escaped(description), ...operations].join('\n\n');
}

function operationPart(document, title, operation) {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const shown = parameters
    .map((parameter) => resolved(document, parameter))
    .map(({ name, in: place, required, description: meaning, schema }) =>
      row(name, place, typeOf(document, schema), required, meaning ?? schema?.description),
    );
  return [
    `## ${escaped(summary)} {#${operationId.replaceAll('.', '-')}}`,
    `\`${title}\``,
    escaped(description ?? ''),
    ...table(['parameter', 'in', 'type', 'required', 'meaning'], shown),
    ...bodyPart(document, requestBody),
    ...answerPart(responses),
    errorsPart(document, responses),
  ].join('\n\n');
}

function bodyPart(document, requestBody) {
  const { schema, example } = requestBody?.content?.['application/json'] ?? {};
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = resolved(document, schema);
  const rows = Object.entries(properties).map(([name, field]) =>
    row(name, typeOf(document, field), required.includes(name), resolved(document, field).description),
  );
  const shown = example === undefined ? [] : ['Example of a body:', json(example)];
  return [...table(['field of the body', 'type', 'required', 'meaning'], rows), ...shown];
}

function answerPart(responses) {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content = {} }]) => {
      const example = content['application/json']?.example;
      return example === undefined ? [] : [`Answer ${status}:`, json(example)];
    });
}

function errorsPart(document, responses) {
  const refusals = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, answer]) => `${status} ${escaped(resolved(document, answer).description)}`);
  return refusals.length === 0 ? '' : `Refusals: ${refusals.join('; ')}.`.replace(/\.\.$/, '.');
}

function table(heads, rows) {
  if (rows.length === 0) return [];
  return [[`| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`, ...rows].join('\n')];
}

function row(name, ...cells) {
  const shown = cells.map((cell) =>
    cell === true ? 'yes' : cell === false || cell === undefined ? '' : escaped(String(cell)),
  );
  return `| \`${name}\` | ${shown.join(' | ')} |`;
}

function typeOf(document, schema) {
  if (schema === undefined) return '';
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
  if (schema.enum !== undefined) return schema.enum.join(', ');
  if (schema.const !== undefined) return String(schema.const);
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map((one) => typeOf(document, one)))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(document, schema.items) || 'values'}`;
  return [schema.type ?? ''].flat().join(' or ');
}

function resolved(document, value) {
  if (value?.$ref === undefined) return value ?? {};
  return value.$ref
    .split('/')
    .slice(1)
    .reduce((part, name) => part[name], document);
}

function json(value) {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/** For a cell of a table and for Vue's templates. Text in backticks stays as it is. */
function escaped(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('{', '&#123;'),
    )
    .join('')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ');
}
