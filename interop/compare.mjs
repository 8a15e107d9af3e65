// What a vendor got through the platform, beside what it got from the client itself.

/** Fields that the platform may spell in another way that means the same to the vendor. */
const otherNames = { max_tokens: 'max_completion_tokens' };

/** Fields that the platform sets itself, for its own books or for its own pace. */
const own = new Set(['stream_options', 'stream']);

/** Defaults that a vendor reads the same whether they are sent or not. */
const defaults = {
  parallel_tool_calls: true,
  n: 1,
};

/**
 * The fields that differ: `lost` were sent by the client and did not arrive, `changed` arrived with another value.
 * Additions of the platform are no difference unless they replace a value.
 */
export function differences(direct, through) {
  const [sent, arrived] = [normal(direct), normal(through)];
  const lost = [];
  const changed = [];
  for (const [path, value] of leaves(sent)) {
    const found = arrived.get(path);
    if (found === undefined) lost.push(path);
    else if (found !== value) changed.push(`${path}: ${value} became ${found}`);
  }
  return { lost, changed };
}

function normal(body) {
  const fields = new Map();
  walk(body, [], (path, value) => fields.set(path, value));
  return fields;
}

const leaves = (fields) => fields.entries();

function walk(value, path, take) {
  const [first] = path;
  if (path.length === 1 && (own.has(first) || first === 'model')) return;
  if (path.length === 1 && first in defaults && defaults[first] === value) return;
  if (value === null || value === undefined) return;
  // One text is the same as a list with one part of text.
  const plain = plainText(value);
  if (plain !== undefined) take(pathOf(path), JSON.stringify(plain));
  else if (Array.isArray(value))
    for (const [index, one] of value.entries()) walk(one, [...path, String(index)], take);
  else if (typeof value === 'object')
    for (const [name, one] of Object.entries(value)) walk(one, [...path, name], take);
  else take(pathOf(path), JSON.stringify(value));
}

function plainText(value) {
  if (!Array.isArray(value) || value.length !== 1) return undefined;
  const [part] = value;
  const isText = part?.type === 'text' && Object.keys(part).length === 2;
  return isText ? part.text : undefined;
}

function pathOf([first, ...rest]) {
  return [otherNames[first] ?? first, ...rest].join('.');
}
