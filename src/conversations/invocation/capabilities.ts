import { invalidField } from '../../kernel/errors.js';
import { isObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';

const blocksMax = 10;

export interface Capabilities {
  /** Whether the client can show suggested replies. */
  readonly quickReplies: boolean;
}

export function readCapabilities(value: unknown, ignored: IgnoredFields): Capabilities {
  if (!isObject(value)) throw invalidField('capabilities', 'must be an object');
  for (const name of Object.keys(value))
    if (name !== 'blocks') ignored.addUnknown(`capabilities.${name}`, 'unknown_field');
  if (!Object.hasOwn(value, 'blocks')) return { quickReplies: false };
  const blocks = readBlocks(value['blocks']);
  for (const block of blocks)
    if (block !== 'quick_replies') ignored.add(`capabilities.blocks.${block}`, 'not_supported');
  return { quickReplies: blocks.includes('quick_replies') };
}

function readBlocks(value: unknown): readonly string[] {
  const wanted = `must be a list of at most ${blocksMax} texts`;
  if (!Array.isArray(value) || value.length > blocksMax) throw invalidField('capabilities.blocks', wanted);
  return value.map((block: unknown) => {
    if (typeof block !== 'string') throw invalidField('capabilities.blocks', wanted);
    return block;
  });
}
