import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MessageCodec } from '../activation/method.js';

/** A buffer beyond this is given back to the collector. */
const keepBytes = 1_048_576;
let writer = new BinaryWriter();

/** One writer for all: its buffer is kept between messages, where each would else allocate its own. */
export function encode(codec: MessageCodec, message: unknown): Uint8Array {
  try {
    const bytes = codec.encode(message, writer).finish();
    if (bytes.length > keepBytes) writer = new BinaryWriter();
    return bytes;
  } catch (error) {
    // It may hold half a message.
    writer = new BinaryWriter();
    throw error;
  }
}
