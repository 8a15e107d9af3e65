import { z } from 'zod';

/** The common response shapes, as schemas and as values. */
export function oneShape<Data extends z.ZodType>(data: Data) {
  return z.object({ success: z.literal(true), data });
}

export function listShape<Item extends z.ZodType>(item: Item) {
  return z.object({ success: z.literal(true), data: z.array(item), count: z.int() });
}

export const doneShape = z.object({ success: z.literal(true), message: z.string() });

export function one<Data>(data: Data): { success: true; data: Data } {
  return { success: true, data };
}

export function list<Item>(data: Item[]): { success: true; data: Item[]; count: number } {
  return { success: true, data, count: data.length };
}

export function done(message: string): { success: true; message: string } {
  return { success: true, message };
}
