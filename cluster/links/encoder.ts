import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { MessageCodec } from '../activation/method.js';

/** Larger buffers are left to the garbage collector. */
const keepBytes = 1_048_576;
let writer = new BinaryWriter();

/** Encodes with one shared writer, so that its buffer is reused instead of allocated per message. */
export function encode(codec: MessageCodec, message: unknown): Uint8Array {
  try {
    const bytes = codec.encode(message, writer).finish();
    if (bytes.length > keepBytes) writer = new BinaryWriter();
    return bytes;
  } catch (error) {
    // The writer may hold half a message.
    writer = new BinaryWriter();
    throw error;
  }
}
