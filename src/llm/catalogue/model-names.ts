/** The spellings under which callers know a model: those of the vendors, of aggregators, and of this platform. */
import { builtInVendors } from './vendor-names.js';

/** Of these vendors a dated name is a snapshot of the model without the date, at the same price. */
const datingVendors: readonly string[] = ['openai', 'anthropic', 'google', 'xai'];

/** `-2024-08-06`, `-20250514`, `-0613`, `-001`, `-latest`, `-preview-05-20`, `-v1:0`. */
const date =
  /[-@](?:20\d\d-[01]\d-[0-3]\d|20\d{2}[01]\d[0-3]\d|[01]\d[0-3]\d|00\d|latest|preview-\d\d-\d{2,4}|v\d+:\d+)$/;

/** Ids that the name may mean, the likeliest first. `vendors`: all known ones; `preferred` comes before the others. */
export function idsFor(name: string, vendors: Iterable<string>, preferred?: string): readonly string[] {
  const known = [...(preferred === undefined ? [] : [preferred]), ...inOrder(vendors)];
  const slash = name.indexOf('/');
  const maker = name.slice(0, Math.max(0, slash));
  return [
    name,
    ...(known.includes(maker) ? [`${maker}.${name.slice(slash + 1)}`] : []),
    ...known.map((vendor) => `${vendor}.${name}`),
  ];
}

/** The vendors themselves before aggregators and the operator's own servers; the simulated vendor last. */
function inOrder(vendors: Iterable<string>): readonly string[] {
  const built: readonly string[] = builtInVendors;
  const others = [...vendors].filter((vendor) => !built.includes(vendor) && vendor !== 'sim');
  return [...built, ...others, 'sim'];
}

/** The id of the model of which `id` is a snapshot, if its vendor dates its models. */
export function undated(id: string): string | undefined {
  const vendor = id.slice(0, Math.max(0, id.indexOf('.')));
  return datingVendors.includes(vendor) && date.test(id) ? id.replace(date, '') : undefined;
}
