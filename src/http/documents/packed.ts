import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const brotli = promisify(brotliCompress);
/** A tenth of the document's size in some 30 ms, off the event loop; the best quality takes more than a second. */
const quality = 5;

export interface Packed {
  /** The text in the coding that the header accepts. */
  as(acceptEncoding: string): { readonly coding: string | undefined; readonly bytes: Uint8Array };
}

/** A long text that many ask for, packed once. */
export async function packed(text: string): Promise<Packed> {
  const plain = Buffer.from(text);
  const small = await brotli(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
  return {
    as: (acceptEncoding) =>
      accepts(acceptEncoding, 'br') ? { coding: 'br', bytes: small } : { coding: undefined, bytes: plain },
  };
}

/** Whether the header names the coding and does not give it a weight of zero. */
export function accepts(header: string, coding: string): boolean {
  return header
    .toLowerCase()
    .split(',')
    .map((entry) => entry.trim().split(/\s*;\s*/))
    .some(([name, weight]) => name === coding && !/^q=0(?:\.0*)?$/.test(weight ?? ''));
}
