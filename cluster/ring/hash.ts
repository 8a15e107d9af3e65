import { addressText, slot, slotCount, type ActorAddress, type Slot } from '../ids/ids.js';

/**
 * The frozen hashes of placement. They must never change: rows in the durable store carry slots computed by them, and
 * nodes of two versions must agree during a rolling upgrade. Test vectors guard them. FNV-1a over UTF-8 with the
 * finalizer of MurmurHash3, which spreads FNV's weak high bits.
 */
const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;
const slotShift = 32 - Math.log2(slotCount);

export function slotOf(address: ActorAddress): Slot {
  return slotOfText(addressText(address));
}

export function slotOfText(text: string): Slot {
  return slot(hashText(text) >>> slotShift);
}

/** 32 bits, unsigned. */
export function hashText(text: string): number {
  let hash = fnvOffset;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return hashBytes(new TextEncoder().encode(text));
    hash = Math.imul(hash ^ code, fnvPrime);
  }
  return mix(hash);
}

export function hashBytes(bytes: Uint8Array): number {
  let hash = fnvOffset;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, fnvPrime);
  return mix(hash);
}

/** The draw of one member for one slot, 32 bits, unsigned. The highest weighted draw owns the slot. */
export function draw(slotNumber: number, memberHash: number): number {
  return mix(mix(Math.imul(slotNumber + 1, 0x9e3779b1)) + memberHash);
}

function mix(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
