/**
 * A version as lines that can be compared: the prompt as it was written, then everything else with its names in order.
 */
export function snapshotText(snapshot: Readonly<Record<string, unknown>>): string {
  const { llm_config: config, schemas, ...others } = snapshot;
  const { system_prompt: prompt = '', ...model } = config as Readonly<Record<string, unknown>>;
  const tools = (Array.isArray(schemas) ? schemas : []) as readonly Readonly<Record<string, unknown>>[];
  return [
    '── Prompt',
    String(prompt),
    '',
    '── Model',
    ordered(model),
    '',
    '── Agent',
    ordered(others),
    ...tools
      .toSorted((one, other) => (String(one['name']) < String(other['name']) ? -1 : 1))
      .flatMap((tool) => ['', `── Tool ${String(tool['name'])}`, ordered({ ...tool, id: undefined })]),
  ].join('\n');
}

const ordered = (value: unknown): string => JSON.stringify(sorted(value), null, 2);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
